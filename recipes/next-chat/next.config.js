// The root is this folder, not the clone around it, which has a lockfile too.
export default {
  distDir: 'build',
  outputFileTracingRoot: import.meta.dirname,
  turbopack: { root: import.meta.dirname },
}
