export type { ErrorCode, RequestFacts } from '@org/agent-messaging-http-kit'
export { createHttpApp, isApiPath } from './app.js'
export type { HttpOptions, MetricsText, PortalPages } from './options.js'
export type { ErrorBody } from './wire/error.js'
