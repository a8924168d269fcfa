/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The CUDA runtime's binary interface, as far as our runtime needs it, in our own words. Most of
 * its types are the driver's under other names: same layout, same numbers. Those are macros here,
 * so that a runtime call hands them on to the driver as they are; a test compares both claims with
 * a toolkit's headers, where one is found. Prototypes are in cudart-calls.h.
 */

#include "cuabi/cuda-min.h"

#define CUDART_VERSION 13000

typedef enum cudaError {
#define DEV_RTERROR(name, number, text) name = number,
#include "cudart/errors.def"
#undef DEV_RTERROR
} cudaError_t;

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUfunction cudaFunction_t;
typedef CUkernel cudaKernel_t;
typedef CUlibrary cudaLibrary_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUuserObject cudaUserObject_t;
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *user);

#define cudaStreamLegacy    CU_STREAM_LEGACY
#define cudaStreamPerThread CU_STREAM_PER_THREAD

/* Enumerations with the driver's numbers. */
#define cudaDeviceAttr			CUdevice_attribute_enum
#define cudaDeviceP2PAttr		CUdevice_P2PAttribute_enum
#define cudaLimit			CUlimit_enum
#define cudaFuncCache			CUfunc_cache_enum
#define cudaSharedMemConfig		CUsharedconfig_enum
#define cudaFuncAttribute		CUfunction_attribute_enum
#define cudaStreamCaptureMode		CUstreamCaptureMode_enum
#define cudaStreamCaptureStatus		CUstreamCaptureStatus_enum
#define cudaGraphConditionalNodeType	CUgraphConditionalNodeType_enum
#define cudaGraphNodeType		CUgraphNodeType_enum
#define cudaMemAccessFlags		CUmemAccess_flags_enum
#define cudaMemAllocationType		CUmemAllocationType_enum
#define cudaMemAllocationHandleType	CUmemAllocationHandleType_enum
#define cudaMemPoolAttr			CUmemPool_attribute_enum
#define cudaJitOption			CUjit_option_enum
#define cudaLibraryOption		CUlibraryOption_enum
#define cudaDriverEntryPointQueryResult CUdriverProcAddressQueryResult_enum
#define cudaLaunchAttributeID		CUlaunchAttributeID
#define cudaTextureAddressMode		CUaddress_mode_enum
#define cudaTextureFilterMode		CUfilter_mode_enum
#define cudaResourceType		CUresourcetype_enum

/* Structures with the driver's layout. */
#define cudaResourceViewDesc	      CUDA_RESOURCE_VIEW_DESC_st
#define cudaUUID_t		      CUuuid
#define cudaIpcMemHandle_t	      CUipcMemHandle
#define cudaIpcEventHandle_t	      CUipcEventHandle
#define cudaMemLocation		      CUmemLocation_st
#define cudaMemAccessDesc	      CUmemAccessDesc_st
#define cudaMemPoolProps	      CUmemPoolProps_st
#define cudaMemPoolPtrExportData      CUmemPoolPtrExportData_st
#define cudaMemcpyAttributes	      CUmemcpyAttributes_st
#define cudaMemcpy3DBatchOp	      CUDA_MEMCPY3D_BATCH_OP_st
#define cudaMemsetParams	      CUDA_MEMSET_NODE_PARAMS_st
#define cudaHostNodeParams	      CUDA_HOST_NODE_PARAMS_st
#define cudaGraphEdgeData	      CUgraphEdgeData
#define cudaGraphInstantiateParams    CUDA_GRAPH_INSTANTIATE_PARAMS
#define cudaGraphExecUpdateResultInfo CUgraphExecUpdateResultInfo
#define cudaLaunchAttribute	      CUlaunchAttribute
#define cudaLaunchAttributeValue      CUlaunchAttributeValue

/* Numbers that are only handed on. */
enum cudaMemoryAdvise {
	cudaMemAdviseSetReadMostly = 1,
};

enum cudaMemRangeAttribute {
	cudaMemRangeAttributeReadMostly = 1,
};

enum cudaGraphMemAttributeType {
	cudaGraphMemAttrUsedMemCurrent = 0,
};

enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4,
};

enum cudaMemoryType {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3,
};

enum cudaChannelFormatKind {
	cudaChannelFormatKindSigned = 0,
	cudaChannelFormatKindUnsigned = 1,
	cudaChannelFormatKindFloat = 2,
	cudaChannelFormatKindNone = 3,
};

struct cudaChannelFormatDesc {
	int x;
	int y;
	int z;
	int w;
	enum cudaChannelFormatKind f;
};

enum cudaTextureReadMode {
	cudaReadModeElementType = 0,
	cudaReadModeNormalizedFloat = 1,
};

struct cudaResourceDesc {
	enum cudaResourceType resType;
	union {
		struct {
			cudaArray_t array;
		} array;
		struct {
			cudaMipmappedArray_t mipmap;
		} mipmap;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t sizeInBytes;
		} linear;
		struct {
			void *devPtr;
			struct cudaChannelFormatDesc desc;
			size_t width;
			size_t height;
			size_t pitchInBytes;
		} pitch2D;
		struct {
			int reserved[32];
		} reserved;
	} res;
	unsigned int flags;
};

struct cudaTextureDesc {
	enum cudaTextureAddressMode addressMode[3];
	enum cudaTextureFilterMode filterMode;
	enum cudaTextureReadMode readMode;
	int sRGB;
	float borderColor[4];
	int normalizedCoords;
	unsigned int maxAnisotropy;
	enum cudaTextureFilterMode mipmapFilterMode;
	float mipmapLevelBias;
	float minMipmapLevelClamp;
	float maxMipmapLevelClamp;
	int disableTrilinearOptimization;
	int seamlessCubemap;
};

typedef struct dim3 {
	unsigned int x;
	unsigned int y;
	unsigned int z;
} dim3;

struct cudaPitchedPtr {
	void *ptr;
	size_t pitch;
	size_t xsize;
	size_t ysize;
};

struct cudaExtent {
	size_t width;
	size_t height;
	size_t depth;
};

struct cudaPos {
	size_t x;
	size_t y;
	size_t z;
};

struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	struct cudaExtent extent;
	enum cudaMemcpyKind kind;
};

struct cudaMemcpy3DPeerParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	int srcDevice;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	int dstDevice;
	struct cudaExtent extent;
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer;
	void *hostPointer;
	long reserved[8];
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes;
	size_t constSizeBytes;
	size_t localSizeBytes;
	int maxThreadsPerBlock;
	int numRegs;
	int ptxVersion;
	int binaryVersion;
	int cacheModeCA;
	int maxDynamicSharedSizeBytes;
	int preferredShmemCarveout;
	int clusterDimMustBeSet;
	int requiredClusterWidth;
	int requiredClusterHeight;
	int requiredClusterDepth;
	int clusterSchedulingPolicyPreference;
	int nonPortableClusterSizeAllowed;
	int reserved[16];
};

typedef struct cudaLaunchConfig_st {
	dim3 gridDim;
	dim3 blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

struct cudaKernelNodeParams {
	void *func;
	dim3 gridDim;
	dim3 blockDim;
	unsigned int sharedMemBytes;
	void **kernelParams;
	void **extra;
};

struct cudaMemAllocNodeParams {
	struct cudaMemPoolProps poolProps;
	const struct cudaMemAccessDesc *accessDescs;
	size_t accessDescCount;
	size_t bytesize;
	void *dptr;
};

struct cudaMemcpyNodeParams {
	int flags;
	int reserved[3];
	struct cudaMemcpy3DParms copyParams;
};

typedef CUgraphConditionalHandle cudaGraphConditionalHandle;

struct cudaConditionalNodeParams {
	cudaGraphConditionalHandle handle;
	enum cudaGraphConditionalNodeType type;
	unsigned int size;
	cudaGraph_t *phGraph_out;
};

/* Of the kinds of node only those are spelled out that our runtime makes. */
struct cudaGraphNodeParams {
	enum cudaGraphNodeType type;
	int reserved0[3];
	union {
		long long reserved1[29];
		struct cudaKernelNodeParams kernel;
		struct cudaMemcpyNodeParams memcpy;
		struct cudaMemsetParams memset;
		struct cudaHostNodeParams host;
		struct {
			cudaGraph_t graph;
		} graph;
		struct {
			cudaEvent_t event;
		} eventWait;
		struct {
			cudaEvent_t event;
		} eventRecord;
		struct cudaMemAllocNodeParams alloc;
		struct {
			void *dptr;
		} free;
		struct cudaConditionalNodeParams conditional;
	};
	long long reserved2;
};

struct cudaDeviceProp {
	char name[256];
	cudaUUID_t uuid;
	char luid[8];
	unsigned int luidDeviceNodeMask;
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int regsPerBlock;
	int warpSize;
	size_t memPitch;
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	size_t totalConstMem;
	int major;
	int minor;
	size_t textureAlignment;
	size_t texturePitchAlignment;
	int multiProcessorCount;
	int integrated;
	int canMapHostMemory;
	int maxTexture1D;
	int maxTexture1DMipmap;
	int maxTexture2D[2];
	int maxTexture2DMipmap[2];
	int maxTexture2DLinear[3];
	int maxTexture2DGather[2];
	int maxTexture3D[3];
	int maxTexture3DAlt[3];
	int maxTextureCubemap;
	int maxTexture1DLayered[2];
	int maxTexture2DLayered[3];
	int maxTextureCubemapLayered[2];
	int maxSurface1D;
	int maxSurface2D[2];
	int maxSurface3D[3];
	int maxSurface1DLayered[2];
	int maxSurface2DLayered[3];
	int maxSurfaceCubemap;
	int maxSurfaceCubemapLayered[2];
	size_t surfaceAlignment;
	int concurrentKernels;
	int ECCEnabled;
	int pciBusID;
	int pciDeviceID;
	int pciDomainID;
	int tccDriver;
	int asyncEngineCount;
	int unifiedAddressing;
	int memoryBusWidth;
	int l2CacheSize;
	int persistingL2CacheMaxSize;
	int maxThreadsPerMultiProcessor;
	int streamPrioritiesSupported;
	int globalL1CacheSupported;
	int localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor;
	int managedMemory;
	int isMultiGpuBoard;
	int multiGpuBoardGroupID;
	int hostNativeAtomicSupported;
	int pageableMemoryAccess;
	int concurrentManagedAccess;
	int computePreemptionSupported;
	int canUseHostPointerForRegisteredMem;
	int cooperativeLaunch;
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables;
	int directManagedMemAccessFromHost;
	int maxBlocksPerMultiProcessor;
	int accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
	int hostRegisterSupported;
	int sparseCudaArraySupported;
	int hostRegisterReadOnlySupported;
	int timelineSemaphoreInteropSupported;
	int memoryPoolsSupported;
	int gpuDirectRDMASupported;
	unsigned int gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned int memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported;
	int ipcEventSupported;
	int clusterLaunch;
	int unifiedFunctionPointers;
	int deviceNumaConfig;
	int deviceNumaId;
	int mpsEnabled;
	int hostNumaId;
	unsigned int gpuPciDeviceID;
	unsigned int gpuPciSubsystemID;
	int hostNumaMultinodeIpcSupported;
	int reserved[56];
};
