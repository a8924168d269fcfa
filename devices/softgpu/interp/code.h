/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the interpreter share: decoded code, and the state of a warp that runs it.
 *
 * Rows. A register is a row of 32 lanes in the frame of its function: 4 bytes a lane, 8 for
 * 64-bit types; narrower values are kept with zeroes above them. Constants, addresses of
 * variables and special registers are rows of the frame too, filled when it is made, so that an
 * operand is always the offset of a row. Predicates are one word a register, a bit a lane.
 *
 * Handlers. An instruction has two, one for "every lane" and one that looks at the mask; both
 * return the next instruction, or NULL with the reason in warp->event.
 *
 * Groups. Lanes that took different ways are groups, each with its place in the code. The one
 * that runs is not in the list. Who runs next: the deepest call first, and there the one that is
 * furthest behind, so that lanes meet again where their ways do.
 *
 *   RUN     -> (running)  [schedule]       RUN      has work
 *   running -> RUN        [branch, yield]  BARRIER  waits for the block, until dev_interp_bar_*
 *   running -> BARRIER    [bar]            SYNC     waits for other lanes of the warp
 *   running -> SYNC       [shfl.sync …]
 *   BARRIER -> RUN        [the last one arrives]
 *   SYNC    -> RUN        [its lanes are together, maybe at several places of the code, or nobody
 *                          else can run]
 *
 * Teams. Neighbouring warps that are whole and at the same instruction go on in step, as one: an
 * instruction is then looked at once for all of them (team.c). Their rows of one register lie
 * side by side, a strip apart.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx.h"
#include "softgpu/interp/interp.h"

#define DEV_INTERP_LANES       32u
#define DEV_INTERP_ALL	       UINT32_MAX
#define DEV_INTERP_MAX_THREADS 1024u
#define DEV_INTERP_MAX_WARPS   (DEV_INTERP_MAX_THREADS / DEV_INTERP_LANES)
#define DEV_INTERP_N_BARRIERS  16u
#define DEV_INTERP_MAX_DEPTH   1024u
#define DEV_INTERP_STACK_BYTES ((uint64_t)64 << 10) /* local memory a thread for what is called */
/* taken backward branches until other groups of the warp get their chance; while a warp is one
 * group, until the next warp does, and the same once it reached for global memory: neighbours that
 * stay together share what is in the cache */
#define DEV_INTERP_BUDGET    2048u
#define DEV_INTERP_SLICE     64u
#define DEV_INTERP_SLICE_FAR 1u
/* warps of a team, at most; and how far a register's row in one of them is from the next one's */
#define DEV_INTERP_TEAM	       4u
#define DEV_INTERP_STRIP       DEV_INTERP_ROW_64
#define DEV_INTERP_ROW_32      (DEV_INTERP_LANES * 4)
#define DEV_INTERP_ROW_64      (DEV_INTERP_LANES * 8)
#define DEV_INTERP_CSR_DEFAULT 0x1f80u

struct dev_interp_warp;
struct dev_interp_insn;
struct dev_interp_extra;

struct dev_interp_handler {
	const struct dev_interp_insn *(*all)(struct dev_interp_warp *,
					     const struct dev_interp_insn *);
	const struct dev_interp_insn *(*some)(struct dev_interp_warp *,
					      const struct dev_interp_insn *);
	bool knows_teams; /* @all works for every warp of a team */
};

struct dev_interp_insn {
	struct dev_interp_handler run;
	uint32_t d, a, b, c, e; /* rows, by their offset in the frame; @d is the destination */
	uint8_t n;		/* elements of a vector, operands of a barrier */
	uint8_t space;
	bool has_line_address; /* may be a line (line.h) */
	bool has_line_result;  /* what is written may be one */
	int64_t imm;	       /* offset of an address; constant of lop3; state of MXCSR … */
	uint32_t x[4];	       /* rows of a vector */

	/* what runs where the guard is true, when @run only looks at the guard */
	struct dev_interp_handler inner;
	/* what works on rows, when @run or @inner knows lines */
	struct dev_interp_handler plain;
	/* what works on one warp, when @run looks at the team first */
	const struct dev_interp_insn *(*alone)(struct dev_interp_warp *,
					       const struct dev_interp_insn *);
	uint32_t p, q;	 /* predicates written; the last one of a frame is a sink */
	uint32_t s, t;	 /* predicates read */
	uint32_t guard;	 /* predicate */
	uint32_t s_flip; /* all ones where !p was written, or for a constant; else 0 */
	uint32_t t_flip;
	uint32_t guard_flip;
	const struct dev_interp_insn *target; /* of a branch */
	const struct slu_ptx_instr *source;
	struct dev_interp_extra *extra; /* what few need: extra.h */
	uint8_t element;		/* bytes in memory of one element */
	bool is_wide_row;     /* rows of the vector, or of a cvt's result, have 8 bytes a lane */
	bool is_wide_address; /* the row of the address, or of a cvt's source, has */
	bool is_named;	      /* [name + offset] of a .param variable */
	bool is_half_row;     /* the register has 16 bits or fewer */
	uint8_t role;	      /* of a .param variable */
	uint8_t n_preds;      /* predicates read */
	uint8_t n_sources;    /* rows read, beginning with @a */
} __attribute__((aligned(64)));

/* A row that is filled when a frame is made. */
enum dev_interp_fill_kind {
	DEV_INTERP_FILL_IMM,
	DEV_INTERP_FILL_VARIABLE, /* generic address, or offset in the shared window */
	DEV_INTERP_FILL_LOCAL,	  /* offset in the frame's local memory */
	DEV_INTERP_FILL_SREG,
};

struct dev_interp_fill {
	enum dev_interp_fill_kind kind;
	uint32_t row;
	bool is_wide;
	uint64_t imm; /* or the addend */
	const struct slu_ptx_variable *variable;
	enum slu_ptx_sreg sreg;
};

/* A register that may be a line. */
struct dev_interp_liner {
	uint32_t row;
	bool is_wide;
};

/* A function, decoded. */
struct dev_interp_code {
	const struct slu_ptx_function *function;
	struct dev_interp_insn *insns;
	uint32_t n_insns;
	struct dev_interp_fill *fills;
	uint32_t n_fills;
	struct dev_interp_liner *liners;
	uint32_t n_liners;
	uint32_t n_strips;  /* warps whose registers lie side by side: of a kernel, a team's */
	uint32_t row_bytes; /* of a frame, all strips */
	/* words of a frame: with the sink, the carry flag, and one that is never true */
	uint32_t n_preds;
	uint32_t csr;	  /* at the beginning of every basic block */
	bool has_calls;	  /* or takes local memory while it runs */
	uint32_t top_row; /* of local memory in use, if the function takes some; else 0 */
	struct dev_interp_extra *extras;
};

/* What a call of a function holds; frames that nobody uses any more wait in the warp's pool. */
struct dev_interp_frame {
	struct dev_interp_code *code;
	struct dev_interp_frame *parent;
	const struct dev_interp_insn *call; /* in the parent's code; NULL for the kernel itself */
	uint32_t lanes;			    /* that are in it */
	unsigned depth;
	uint64_t local_base; /* offset of its local memory in each thread's window */
	bool has_lines;	     /* registers may be stale rows */
	/* of a kernel: inside of what the first warp of the team has */
	uint8_t *rows;
	uint8_t *lines;
	uint32_t *preds;
	/* parameter buffers: param_bytes, result_bytes, call_bytes a lane, one lane after another;
	 * of the kernel itself only the last one */
	uint8_t *params;
	uint8_t *results;
	uint8_t *calls;
	struct dev_interp_frame *next;	    /* in the warp's pool */
	struct dev_interp_frame *next_made; /* in the list of all that the warp made */
};

enum dev_interp_group_state {
	DEV_INTERP_GROUP_RUN,
	DEV_INTERP_GROUP_BARRIER,
	DEV_INTERP_GROUP_SYNC,
};

struct dev_interp_group {
	uint32_t mask;
	enum dev_interp_group_state state;
	const struct dev_interp_insn *at;
	struct dev_interp_frame *frame;
	uint32_t members; /* SYNC: the lanes it waits for */
	unsigned barrier; /* BARRIER: which */
	uint64_t ran;	  /* when it last ran, in slices of the warp */
};

enum dev_interp_event {
	DEV_INTERP_EVENT_NONE,
	DEV_INTERP_EVENT_RESCHEDULE, /* the running group was put into the list, or is gone */
	DEV_INTERP_EVENT_YIELD,	     /* the same, because it ran long enough */
	DEV_INTERP_EVENT_FAULT,
};

struct dev_interp_block;

struct dev_interp_warp {
	/* of the group that runs */
	uint8_t *rows;
	uint8_t *lines;
	uint32_t *preds;
	uint32_t mask;
	unsigned team; /* warps that this one leads, itself included */
	struct dev_interp_frame *frame;
	const struct dev_interp_insn *limit; /* another group waits here; NULL if none does */
	unsigned budget;		     /* taken branches until it must yield */
	bool is_released;		     /* it waited long enough, for once */
	/* lanes that execute the same instruction at another place of the code, and what they and
	 * all others that wait for lanes of the warp brought along (flow.c, ops-warp.c) */
	uint32_t others;
	uint64_t brought[DEV_INTERP_LANES];
	uint32_t brought_preds;
	enum dev_interp_event event;

	struct dev_interp_block *block;
	unsigned index; /* in the block */
	uint32_t live;	/* lanes that have not ended */
	struct dev_interp_group groups[DEV_INTERP_LANES];
	unsigned n_groups;
	uint64_t slice;
	bool is_alone; /* the group that runs, or ran last, is all there is of the warp */
	struct dev_interp_frame *root;
	struct dev_interp_frame *pool; /* frames that nobody uses */
	struct dev_interp_frame *made; /* all frames, for the end */
	uint32_t tid[3][DEV_INTERP_LANES];
};

struct dev_interp_barrier {
	uint32_t arrived;  /* threads */
	uint32_t expected; /* 0: every thread of the block that has not ended */
	/* bar.red */
	uint32_t n_true;
	uint32_t n_voted;
};

/* One block on its worker. Constant after the launch began: launch, code, sizes. */
struct dev_interp_block {
	const struct dev_interp_launch *launch;
	struct dev_interp_code *code;
	const struct dev_interp_memory *memory;
	const uint64_t *shared_address; /* by the variable's index: offset in the window */
	uint8_t *shared;
	uint64_t shared_bytes;
	uint8_t *local;
	uint64_t local_bytes; /* a thread */
	unsigned n_threads;
	unsigned n_warps;
	struct dev_interp_warp *warps;

	uint32_t *csr; /* what MXCSR of this thread is */
	/* what blocks of a cooperative launch wait for each other in; NULL for other launches */
	uint32_t *workspace;

	unsigned id[3];
	unsigned n_live;
	unsigned worker;
	bool is_far;	   /* a warp asked for memory that it will want next */
	bool may_team;	   /* what tells lanes apart goes on from warp to warp */
	unsigned patience; /* partings of teams until no more are formed */
	uint32_t met;	   /* a set bit: somebody arrived at that barrier */
	struct dev_interp_barrier barriers[DEV_INTERP_N_BARRIERS];
	struct dev_interp_fault fault;
};

/* module.c */
struct dev_interp_module {
	const struct slu_ptx_module *ptx;
	struct dev_interp_code *
		*codes; /* by the function's index; guarded by lock while preparing */
	void *lock;
};
struct dev_interp_code *dev_interp_module_code(const struct dev_interp_module *module,
					       const struct slu_ptx_function *function);
/* The function behind an address that dev_interp_module_function_address() gave out, or NULL. */
const struct slu_ptx_function *dev_interp_module_function(const struct dev_interp_module *module,
							  uint64_t address);

/* decode.c; @is_check: functions of the device runtime may be missing */
int dev_interp_decode(const struct slu_ptx_function *function, bool is_check,
		      struct dev_interp_code **ret_code, struct slu_ptx_error *ret_error);
void dev_interp_decode_free(struct dev_interp_code *code);

/* classify.c: which registers may be lines (line.h), and which instructions know them */
int dev_interp_classify(const struct slu_ptx_function *function, uint8_t **ret_is_line);
bool dev_interp_classify_makes_line(const struct slu_ptx_function *function,
				    const struct slu_ptx_instr *instr);
bool dev_interp_classify_is_access(const struct slu_ptx_instr *instr);
bool dev_interp_classify_is_compare(const struct slu_ptx_instr *instr);

/* warp.c */
int dev_interp_warp_init(struct dev_interp_warp *warp, struct dev_interp_block *block,
			 unsigned index);
void dev_interp_warp_deinit(struct dev_interp_warp *warp);
/* Makes the warp ready for the block's next id. */
void dev_interp_warp_begin(struct dev_interp_warp *warp);
/* Runs until every group waits, a slice is over, or a fault. Return: false on a fault. */
bool dev_interp_warp_run(struct dev_interp_warp *warp);
bool dev_interp_warp_is_waiting(const struct dev_interp_warp *warp);
/* Puts the group that runs into the list, at @at. */
struct dev_interp_group *dev_interp_warp_park(struct dev_interp_warp *warp,
					      const struct dev_interp_insn *at);

/* team.c */
/* Once, when all warps of the block are there. */
void dev_interp_team_init(struct dev_interp_block *block);
/* At the beginning of each block. */
void dev_interp_team_begin(struct dev_interp_block *block);
/* Makes a team of the warp and those behind it, if they are ready for it. */
void dev_interp_team_form(struct dev_interp_warp *leader);
/* The team is none any more; all of its warps are at @at. Return: NULL. */
const struct dev_interp_insn *dev_interp_team_part(struct dev_interp_warp *leader,
						   const struct dev_interp_insn *at);
/* Executes the instruction in one warp after the other. */
const struct dev_interp_insn *
dev_interp_team_each(struct dev_interp_warp *leader, const struct dev_interp_insn *insn,
		     const struct dev_interp_insn *(*some)(struct dev_interp_warp *,
							   const struct dev_interp_insn *));
/* Puts what looks at the team in front of a handler that knows only one warp. */
void dev_interp_team_bind(struct dev_interp_insn *insn, bool is_flow);

/* frame.c */
struct dev_interp_frame *dev_interp_frame_get(struct dev_interp_warp *warp,
					      struct dev_interp_code *code);
void dev_interp_frame_put(struct dev_interp_warp *warp, struct dev_interp_frame *frame);
void dev_interp_frame_free_all(struct dev_interp_warp *warp);
void dev_interp_frame_fill(struct dev_interp_warp *warp, struct dev_interp_frame *frame);
/* Makes rows of all lines, because lanes part company. */
void dev_interp_frame_flatten(struct dev_interp_frame *frame);

/* flow.c: handlers that are the same on every machine */
const struct dev_interp_handler *dev_interp_flow_bind(const struct slu_ptx_instr *instr);
extern const struct dev_interp_handler dev_interp_flow_guarded, dev_interp_flow_guarded_lines,
	dev_interp_flow_branch, dev_interp_flow_branch_always, dev_interp_flow_set_csr;
/* flow-call.c */
extern const struct dev_interp_handler dev_interp_call, dev_interp_call_indirect,
	dev_interp_call_return, dev_interp_call_end;
/* flow-jump.c */
extern const struct dev_interp_handler dev_interp_jump;
/* flow-barrier.c */
extern const struct dev_interp_handler dev_interp_barrier;
/* Lanes have ended: those who wait for nobody else go on. */
void dev_interp_barrier_check(struct dev_interp_block *block);
/*
 * For instructions that lanes execute together: lanes wait for those that @members names, a mask a
 * lane. Return: true if the instruction can be executed, by the lanes that are now in the warp's
 * mask; false if all of them were parked and the handler returns NULL.
 */
bool dev_interp_flow_gather(struct dev_interp_warp *warp, const struct dev_interp_insn *insn,
			    const uint32_t *members);
extern const uint32_t
	dev_interp_flow_whole_warp[DEV_INTERP_LANES]; /* for those that want everybody */

/* Which buffer of a frame a .param variable lies in, and how far its lanes are apart. */
uint8_t *dev_interp_call_buffer(const struct dev_interp_frame *frame,
				const struct slu_ptx_variable *variable, uint64_t *ret_stride);

/*
 * builtin.c: what runs a function that has no text; NULL if every program must bring its own, or if
 * it is known but its declaration lacks what it reads.
 */
const struct dev_interp_handler *dev_interp_builtin(const struct slu_ptx_function *function,
						    bool *ret_is_known);

/* fault.c */
const struct dev_interp_insn *dev_interp_fault(struct dev_interp_warp *warp,
					       const struct dev_interp_insn *insn,
					       enum dev_interp_fault_kind kind, unsigned lane,
					       uint64_t address, unsigned size, bool is_write);

/*
 * The handlers that profit from wider vectors are compiled for several machines; one table a
 * machine, chosen when a function is decoded.
 */
struct dev_interp_isa {
	const struct dev_interp_handler *(*bind[_SLU_PTX_FAMILY_MAX])(const struct slu_ptx_form *);
	/* loads and stores also depend on their operands; they know lines */
	const struct dev_interp_handler *(*bind_load)(const struct slu_ptx_form *,
						      const struct dev_interp_insn *);
	const struct dev_interp_handler *(*bind_store)(const struct slu_ptx_form *,
						       const struct dev_interp_insn *);
	/* vectors that are moved at once; NULL where the two above have the handler */
	const struct dev_interp_handler *(*bind_vector)(const struct slu_ptx_form *);
	const struct dev_interp_handler *(*bind_cvt)(const struct slu_ptx_form *, bool to_is_wide,
						     bool from_is_wide);
	const struct dev_interp_handler *(*bind_clock)(enum slu_ptx_sreg);
	const struct dev_interp_handler *(*bind_pack)(bool is_pack, unsigned n, unsigned size);
	const void *(*readable)(const struct dev_interp_block *, uint64_t address, uint64_t bytes);
	/* the one that knows lines; only its @all */
	const struct dev_interp_handler *(*bind_line)(const struct slu_ptx_form *);
	const struct dev_interp_handler *spread;
};
extern const struct dev_interp_isa dev_interp_isa_base, dev_interp_isa_v3;
const struct dev_interp_isa *dev_interp_isa(void);
/* For tests: use this table instead of asking the CPU; NULL asks it again. */
void dev_interp_isa_force(const struct dev_interp_isa *isa);
bool dev_interp_isa_has_v3(void);
