/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/operation.h"

CUresult dev_operation_value(enum dev_command_kind kind, CUdeviceptr address, uint64_t value,
			     unsigned size, unsigned flags, struct dev_command **ret_command)
{
	struct dev_command *command;

	if (address % size)
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(kind);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->value = (struct dev_command_value){
		.address = address, .value = value, .size = size, .flags = flags
	};
	*ret_command = command;
	return CUDA_SUCCESS;
}

CUresult dev_operation_command(const CUstreamBatchMemOpParams *op, struct dev_command **ret_command)
{
	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return dev_operation_value(DEV_COMMAND_WAIT, op->waitValue.address,
					   op->waitValue.value, 4, op->waitValue.flags,
					   ret_command);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return dev_operation_value(DEV_COMMAND_WAIT, op->waitValue.address,
					   op->waitValue.value64, 8, op->waitValue.flags,
					   ret_command);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return dev_operation_value(DEV_COMMAND_WRITE, op->writeValue.address,
					   op->writeValue.value, 4, op->writeValue.flags,
					   ret_command);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return dev_operation_value(DEV_COMMAND_WRITE, op->writeValue.address,
					   op->writeValue.value64, 8, op->writeValue.flags,
					   ret_command);
	/* a stream's commands see everything that was written before */
	case CU_STREAM_MEM_OP_BARRIER:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		*ret_command = NULL;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
