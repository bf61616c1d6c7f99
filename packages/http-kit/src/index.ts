export {
  allowAccess,
  PLATFORM_PROJECT,
  bearerToken,
  byApiKey,
  errorFor,
  lateRefusal,
  revocationCheck,
  type Authenticate,
  type KitContext,
  type KitEnv,
} from './access.js'
export { answerFieldsHtml } from './answer-fields.js'
export { readBytes, readJson } from './body.js'
export { AnswerSteps, type AnswerStep } from './chat/answer-steps.js'
export {
  allowChat,
  endpointApp,
  readObject,
  replyAnswer,
  type AnswerWriter,
} from './chat/chat-app.js'
export { ChatSession, refuseAs, type ChatAnswer, type ChatMessage } from './chat/chat-session.js'
export { Caller } from './caller.js'
export { errorCodes, type ErrorCode } from './error-codes.js'
export {
  chain,
  codeByKind,
  refusal,
  refuseField,
  refusalHeaders,
  refusalOf,
  RequestRefusal,
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
  type WrittenEvent,
} from './event-stream.js'
export { exchange, type Exchanged, type RequestFacts } from './exchange.js'
export type { Requester } from './requester.js'
export { User } from './user.js'
export type { PortalLook } from './look.js'
export { withDefaults, type EndpointOptions } from './options.js'
export { reply, replyEmpty, type JsonAnswer } from './reply.js'
export {
  callerOf,
  hasContent,
  idempotencyKeyProblem,
  isAgentRef,
  newSession,
  principalOf,
  refOf,
  senderOf,
  untilSettled,
  type Sender,
} from './send.js'
