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
