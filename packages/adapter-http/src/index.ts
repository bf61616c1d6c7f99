export type { HttpApp } from './app.js'
export { createHttpApp } from './app.js'
export type { ErrorBody, ErrorCode } from './errors.js'
export type { HttpOptions, RequestFacts } from './options.js'
