export { a2aRuntime, type A2aRuntimeOptions } from './a2a-runtime.js'
