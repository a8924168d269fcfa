// SPDX-License-Identifier: Apache-2.0
//
// Textures and surfaces as programs use them through the runtime: cudart-textures SEED. Every format, shape, address
// mode and filter is read by the functions of nvcc's headers and compared with a host computation after the chapter
// "Texture Fetching" of the programming guide. It knows nothing of Sluice and prints how many reads were right.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#define TRY(call)                                                                                     \
	do {                                                                                          \
		cudaError_t e_ = (call);                                                              \
		if (e_ != cudaSuccess) {                                                              \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
			exit(1);                                                                      \
		}                                                                                     \
	} while (0)
#define MUST(condition)                                                                \
	do {                                                                           \
		if (!(condition)) {                                                    \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

enum Shape { ROW, PLANE, SOLID, ROWS, PLANES };
static std::mt19937 random_bits;
static unsigned n_right;
static const int N_READS = 96;

static unsigned below(unsigned n) { return random_bits() % n; }

// -- what the compiler makes of the functions ----------------------------------------------------

template <class T> __device__ T read_one(cudaTextureObject_t t, int shape, float x, float y, float z, int layer)
{
	switch (shape) {
	case ROW: return tex1D<T>(t, x);
	case PLANE: return tex2D<T>(t, x, y);
	case SOLID: return tex3D<T>(t, x, y, z);
	case ROWS: return tex1DLayered<T>(t, x, layer);
	default: return tex2DLayered<T>(t, x, y, layer);
	}
}

template <class T> __global__ void read_all(cudaTextureObject_t t, int shape, const float4 *at, T *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = read_one<T>(t, shape, at[i].x, at[i].y, at[i].z, (int)at[i].w);
}

__global__ void gather_all(cudaTextureObject_t t, const float4 *at, float4 *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex2Dgather<float4>(t, at[i].x, at[i].y, 0);
}

template <class T> __global__ void fetch_all(cudaTextureObject_t t, T *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<T>(t, i - 4);
}

// reads beside the edges and inside, and turns every texel round
__global__ void turn(cudaSurfaceObject_t s, uint2 *clamped, uint2 *zero, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	int i = y * gridDim.x * blockDim.x + x;
	uint2 v;

	surf2Dread(&clamped[i], s, (x - 5) * (int)sizeof(v), y - 3, cudaBoundaryModeClamp);
	surf2Dread(&zero[i], s, (x - 5) * (int)sizeof(v), y - 3, cudaBoundaryModeZero);
	if (x >= width || y >= height)
		return;
	surf2Dread(&v, s, x * (int)sizeof(v), y, cudaBoundaryModeTrap);
	surf2Dwrite(make_uint2(~v.y, v.x), s, x * (int)sizeof(v), y, cudaBoundaryModeTrap);
}

// -- the same on the host ------------------------------------------------------------------------

struct Picture {
	Shape shape;
	int size[3], n_channels;
	bool is_normalized, is_linear, as_float;
	cudaTextureAddressMode edge;
	std::vector<double> values; // as they are read, without a filter

	int n_dims() const { return shape == ROW || shape == ROWS ? 1 : shape == SOLID ? 3 : 2; }
};

static int to_index(long i, int n, cudaTextureAddressMode edge)
{
	if (edge == cudaAddressModeWrap)
		return (int)((i % n + n) % n);
	if (edge == cudaAddressModeMirror) {
		i = (i % (2 * n) + 2 * n) % (2 * n);
		return (int)(i < n ? i : 2 * n - 1 - i);
	}
	if (edge == cudaAddressModeBorder && (i < 0 || i >= n))
		return -1;
	return (int)(i < 0 ? 0 : i >= n ? n - 1 : i);
}

static double texel(const Picture &p, const long *at, int layer, int c)
{
	int k[3] = { 0, 0, 0 };

	for (int d = 0; d < p.n_dims(); d++)
		if ((k[d] = to_index(at[d], p.size[d], p.edge)) < 0)
			return 0;
	if (p.shape != SOLID)
		k[2] = layer;
	return p.values[(((size_t)k[2] * p.size[1] + k[1]) * p.size[0] + k[0]) * p.n_channels + c];
}

static double filtered(const Picture &p, const double *x, long *at, int layer, int c, int dim)
{
	if (dim == p.n_dims())
		return texel(p, at, layer, c);
	if (!p.is_linear) {
		at[dim] = (long)floor(x[dim]);
		return filtered(p, x, at, layer, c, dim + 1);
	}
	double b = x[dim] - 0.5, a = round((b - floor(b)) * 256) / 256, low, high;

	at[dim] = (long)floor(b);
	low = filtered(p, x, at, layer, c, dim + 1);
	at[dim] = (long)floor(b) + 1;
	high = filtered(p, x, at, layer, c, dim + 1);
	return (1 - a) * low + a * high;
}

// -- one texture ---------------------------------------------------------------------------------

template <class E> struct Channels;
#define CHANNELS(E, V1, V2, V4, K)                                   \
	template <> struct Channels<E> {                             \
		using One = V1;                                      \
		using Two = V2;                                      \
		using Four = V4;                                     \
		static const cudaChannelFormatKind kind = K;         \
	};
CHANNELS(signed char, char1, char2, char4, cudaChannelFormatKindSigned)
CHANNELS(unsigned char, uchar1, uchar2, uchar4, cudaChannelFormatKindUnsigned)
CHANNELS(short, short1, short2, short4, cudaChannelFormatKindSigned)
CHANNELS(unsigned short, ushort1, ushort2, ushort4, cudaChannelFormatKindUnsigned)
CHANNELS(int, int1, int2, int4, cudaChannelFormatKindSigned)
CHANNELS(unsigned, uint1, uint2, uint4, cudaChannelFormatKindUnsigned)
CHANNELS(float, float1, float2, float4, cudaChannelFormatKindFloat)

template <class E> static double as_read(E e, bool as_float)
{
	if (!as_float || std::is_same<E, float>::value)
		return (double)e;
	double most = (double)((1ull << (sizeof(E) * 8 - std::is_signed<E>::value)) - 1);

	return fmax((double)e / most, -1);
}

// where to read: in texels, or parts of the whole
static float4 place(const Picture &p, double *x, int *layer)
{
	float f[3];

	*layer = p.shape == ROWS || p.shape == PLANES ? (int)below(p.size[2]) : 0;
	for (int d = 0; d < 3; d++) {
		double n = p.size[d];

		// never halfway between two weights
		f[d] = (float)((below(1 << 16) + 0.37) / (1 << 14) - 1.5);
		if (!p.is_normalized)
			f[d] *= (float)n;
		x[d] = p.is_normalized ? (double)f[d] * n : f[d];
	}
	return make_float4(f[0], f[1], f[2], (float)*layer);
}

template <class E, class V> static void check(Picture p, cudaTextureObject_t t)
{
	using F = typename std::conditional<sizeof(V) / sizeof(E) == 1, float1,
					    typename std::conditional<sizeof(V) / sizeof(E) == 2, float2, float4>::type>::type;
	std::vector<float4> at(N_READS);
	std::vector<double> x(N_READS * 3);
	std::vector<int> layers(N_READS);
	size_t bytes = N_READS * (p.as_float ? sizeof(F) : sizeof(V));
	std::vector<char> back(bytes);
	double largest = std::is_same<E, float>::value ? 1000 : 1;
	float4 *device_at;
	void *out;

	for (int i = 0; i < N_READS; i++)
		at[i] = place(p, &x[i * 3], &layers[i]);
	TRY(cudaMalloc(&device_at, N_READS * sizeof(float4)));
	TRY(cudaMalloc(&out, bytes));
	TRY(cudaMemcpy(device_at, at.data(), N_READS * sizeof(float4), cudaMemcpyHostToDevice));
	if (p.as_float)
		read_all<F><<<3, 32>>>(t, p.shape, device_at, (F *)out, N_READS);
	else
		read_all<V><<<3, 32>>>(t, p.shape, device_at, (V *)out, N_READS);
	TRY(cudaGetLastError());
	TRY(cudaMemcpy(back.data(), out, bytes, cudaMemcpyDeviceToHost));
	for (int i = 0; i < N_READS; i++)
		for (int c = 0; c < p.n_channels; c++) {
			long k[3];
			double want = filtered(p, &x[i * 3], k, layers[i], c, 0);
			double got = p.as_float ? (double)((float *)back.data())[i * p.n_channels + c]
						: (double)((E *)back.data())[i * p.n_channels + c];

			if (fabs(got - want) > (p.is_linear ? largest * 0x1p-22 : fabs(want) * 0x1p-23)) {
				printf("read %d, channel %d: %.9g instead of %.9g (shape %d, %dx%dx%d, edge %d, linear %d, "
				       "normalized %d, at %g %g %g)\n",
				       i, c, got, want, p.shape, p.size[0], p.size[1], p.size[2], p.edge, p.is_linear,
				       p.is_normalized, at[i].x, at[i].y, at[i].z);
				exit(1);
			}
			n_right++;
		}
	TRY(cudaFree(device_at));
	TRY(cudaFree(out));
}

template <class E, class V> static void one_texture(Shape shape)
{
	Picture p = { shape, { (int)(2 + below(40)), 1, 1 }, (int)(sizeof(V) / sizeof(E)) };
	const bool is_wide = sizeof(E) == 4;
	cudaExtent extent;
	cudaResourceDesc resource = {};
	cudaTextureDesc how = {};
	cudaMemcpy3DParms copy = {};
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<V>(), back;
	cudaTextureObject_t t;
	cudaArray_t array;
	unsigned flags;

	if (shape != ROW && shape != ROWS)
		p.size[1] = 1 + below(20);
	if (shape == SOLID || shape == ROWS || shape == PLANES)
		p.size[2] = 1 + below(6);
	p.as_float = std::is_same<E, float>::value || (!is_wide && below(2));
	p.is_linear = p.as_float && below(2);
	p.is_normalized = below(2);
	p.edge = (cudaTextureAddressMode)below(4);
	if (!p.is_normalized)
		p.edge = below(2) ? cudaAddressModeClamp : cudaAddressModeBorder;

	std::vector<E> texels((size_t)p.size[0] * p.size[1] * p.size[2] * p.n_channels);
	for (E &e : texels)
		e = std::is_same<E, float>::value ? (E)((double)below(2000001) / 1000 - 1000) : (E)random_bits();
	for (E e : texels)
		p.values.push_back(as_read(e, p.as_float));
	extent = make_cudaExtent(p.size[0], shape == ROW || shape == ROWS ? 0 : p.size[1],
				 shape == ROW || shape == PLANE ? 0 : p.size[2]);
	TRY(cudaMalloc3DArray(&array, &channels, extent, shape == ROWS || shape == PLANES ? cudaArrayLayered : 0));
	TRY(cudaArrayGetInfo(&back, &extent, &flags, array));
	MUST(back.x == channels.x && back.w == channels.w && back.f == channels.f && (int)extent.width == p.size[0]);
	copy.srcPtr = make_cudaPitchedPtr(texels.data(), p.size[0] * sizeof(V), p.size[0], p.size[1]);
	copy.dstArray = array;
	copy.extent = make_cudaExtent(p.size[0], p.size[1], p.size[2]);
	copy.kind = cudaMemcpyHostToDevice;
	if (shape == PLANE && below(2))
		TRY(cudaMemcpy2DToArray(array, 0, 0, texels.data(), p.size[0] * sizeof(V), p.size[0] * sizeof(V),
					p.size[1], cudaMemcpyHostToDevice));
	else
		TRY(cudaMemcpy3D(&copy));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	for (int d = 0; d < 3; d++)
		how.addressMode[d] = p.edge;
	how.filterMode = p.is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
	how.readMode = p.as_float && !std::is_same<E, float>::value ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
	how.normalizedCoords = p.is_normalized;
	TRY(cudaCreateTextureObject(&t, &resource, &how, nullptr));
	check<E, V>(p, t);
	TRY(cudaDestroyTextureObject(t));
	TRY(cudaFreeArray(array));
}

template <class E> static void textures()
{
	for (int round = 0; round < 3; round++)
		for (int shape = ROW; shape <= PLANES; shape++) {
			one_texture<E, typename Channels<E>::One>((Shape)shape);
			one_texture<E, typename Channels<E>::Two>((Shape)shape);
			one_texture<E, typename Channels<E>::Four>((Shape)shape);
		}
}

// -- memory, four texels at once, surfaces --------------------------------------------------------

static void plain_memory()
{
	const int n = 1000;
	std::vector<float2> values(n), back(n + 8);
	cudaResourceDesc resource = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t t;
	float2 *p, *out;

	for (float2 &v : values)
		v = make_float2((float)below(1000), (float)below(1000));
	TRY(cudaMalloc(&p, n * sizeof(float2)));
	TRY(cudaMalloc(&out, back.size() * sizeof(float2)));
	TRY(cudaMemcpy(p, values.data(), n * sizeof(float2), cudaMemcpyHostToDevice));
	resource.resType = cudaResourceTypeLinear;
	resource.res.linear.devPtr = p;
	resource.res.linear.desc = cudaCreateChannelDesc<float2>();
	resource.res.linear.sizeInBytes = n * sizeof(float2);
	TRY(cudaCreateTextureObject(&t, &resource, &how, nullptr));
	fetch_all<float2><<<8, 128>>>(t, out, (int)back.size());
	TRY(cudaMemcpy(back.data(), out, back.size() * sizeof(float2), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n + 8; i++) {
		float2 want = i < 4 || i >= n + 4 ? make_float2(0, 0) : values[i - 4];

		MUST(back[i].x == want.x && back[i].y == want.y);
		n_right++;
	}
	TRY(cudaDestroyTextureObject(t));
	TRY(cudaFree(p));
	TRY(cudaFree(out));
}

static void four_at_once()
{
	const int width = 24, height = 16;
	std::vector<float> values(width * height);
	std::vector<float4> at(N_READS), back(N_READS);
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
	cudaResourceDesc resource = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t t;
	cudaArray_t array;
	float4 *p, *out;

	for (float &v : values)
		v = (float)below(1000);
	TRY(cudaMallocArray(&array, &channels, width, height, cudaArrayTextureGather));
	TRY(cudaMemcpyToArray(array, 0, 0, values.data(), values.size() * 4, cudaMemcpyHostToDevice));
	std::vector<float> same(values.size());
	TRY(cudaMemcpy2DFromArray(same.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
	MUST(same == values);
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
	TRY(cudaCreateTextureObject(&t, &resource, &how, nullptr));
	for (float4 &a : at)
		a = make_float4(1 + (below(1000) + 0.3f) / 1000 * (width - 3), 1 + (below(1000) + 0.3f) / 1000 * (height - 3), 0, 0);
	TRY(cudaMalloc(&p, N_READS * sizeof(float4)));
	TRY(cudaMalloc(&out, N_READS * sizeof(float4)));
	TRY(cudaMemcpy(p, at.data(), N_READS * sizeof(float4), cudaMemcpyHostToDevice));
	gather_all<<<3, 32>>>(t, p, out, N_READS);
	TRY(cudaMemcpy(back.data(), out, N_READS * sizeof(float4), cudaMemcpyDeviceToHost));
	for (int i = 0; i < N_READS; i++) {
		int x = (int)floorf(at[i].x - 0.5f), y = (int)floorf(at[i].y - 0.5f);

		MUST(back[i].x == values[(y + 1) * width + x] && back[i].y == values[(y + 1) * width + x + 1]);
		MUST(back[i].z == values[y * width + x + 1] && back[i].w == values[y * width + x]);
		n_right += 4;
	}
	TRY(cudaDestroyTextureObject(t));
	TRY(cudaFreeArray(array));
	TRY(cudaFree(p));
	TRY(cudaFree(out));
}

static void surfaces()
{
	const int width = 50, height = 20, wide = 64, high = 26;
	std::vector<uint2> values(width * height), back(width * height), clamped(wide * high), zero(wide * high);
	cudaChannelFormatDesc channels = cudaCreateChannelDesc<uint2>();
	cudaResourceDesc resource = {};
	cudaSurfaceObject_t s;
	cudaArray_t array;
	uint2 *out;

	for (uint2 &v : values)
		v = make_uint2(random_bits(), random_bits());
	TRY(cudaMallocArray(&array, &channels, width, height, cudaArraySurfaceLoadStore));
	TRY(cudaMemcpy2DToArray(array, 0, 0, values.data(), width * 8, width * 8, height, cudaMemcpyHostToDevice));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	TRY(cudaCreateSurfaceObject(&s, &resource));
	TRY(cudaMalloc(&out, 2 * clamped.size() * 8));
	// reads of other texels than the thread's own come first: with no writes at all
	turn<<<dim3(2, high), 32>>>(s, out, out + clamped.size(), 0, 0);
	TRY(cudaMemcpy(clamped.data(), out, clamped.size() * 8, cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(zero.data(), out + clamped.size(), zero.size() * 8, cudaMemcpyDeviceToHost));
	turn<<<dim3(2, high), 32>>>(s, out, out + clamped.size(), width, height);
	TRY(cudaMemcpy2DFromArray(back.data(), width * 8, array, 0, 0, width * 8, height, cudaMemcpyDeviceToHost));
	for (int y = 0; y < high; y++)
		for (int x = 0; x < wide; x++) {
			int cx = x - 5 < 0 ? 0 : x - 5 >= width ? width - 1 : x - 5;
			int cy = y - 3 < 0 ? 0 : y - 3 >= height ? height - 1 : y - 3;
			bool is_inside = cx == x - 5 && cy == y - 3;
			uint2 v = values[cy * width + cx], c = clamped[y * wide + x], z = zero[y * wide + x];

			MUST(c.x == v.x && c.y == v.y);
			MUST(z.x == (is_inside ? v.x : 0) && z.y == (is_inside ? v.y : 0));
			n_right += 2;
		}
	for (int i = 0; i < width * height; i++)
		MUST(back[i].x == ~values[i].y && back[i].y == values[i].x);
	TRY(cudaDestroySurfaceObject(s));
	TRY(cudaFreeArray(array));
	TRY(cudaFree(out));
}

int main(int argc, char **argv)
{
	random_bits.seed(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	textures<signed char>();
	textures<unsigned char>();
	textures<short>();
	textures<unsigned short>();
	textures<int>();
	textures<unsigned>();
	textures<float>();
	plain_memory();
	four_at_once();
	surfaces();
	printf("%u reads as on the CPU\n", n_right);
}
