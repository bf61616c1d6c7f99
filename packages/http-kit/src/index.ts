export {
  bearerToken,
  byApiKey,
  refusalOfAccess,
  revocationCheck,
  type Access,
  type Authenticate,
} from './access.js'
export { readBytes } from './body.js'
export { Caller } from './caller.js'
export { errorCodes, type ErrorCode } from './error-codes.js'
export {
  codeByKind,
  refusalHeaders,
  refusalOf,
  type HttpError,
  type Refusal,
  type RequestError,
} from './errors.js'
export {
  eventsOf,
  HEARTBEAT,
  replyEvents,
  type EventSource,
  type EventText,
  type EventWriter,
} from './event-stream.js'
export { exchange, type Exchanged, type KitEnv } from './exchange.js'
export { withDefaults, type EndpointOptions, type RequestFacts } from './options.js'
export { reply, type JsonAnswer } from './reply.js'
export { newSession, untilSettled } from './send.js'
