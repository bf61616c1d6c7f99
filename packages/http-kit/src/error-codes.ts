type Code = { readonly status: number; readonly cause: string; readonly remedy: string }

/** For people: why a code is answered, and how to go on. `docs/errors.md` has the same text. */
export const errorCodes = {
  BAD_REQUEST: {
    status: 400,
    cause: 'The body, a parameter, a header or the principal is invalid. Nothing was stored.',
    remedy: 'Correct the fields that `issues` names. The same request fails again.',
  },
  UNAUTHORIZED: {
    status: 401,
    cause:
      'The API key, session token, run token or secret is missing, unknown, revoked or expired.',
    remedy: 'Send a valid one as `Authorization: Bearer …`, with one space and without quotes.',
  },
  FORBIDDEN: {
    status: 403,
    cause:
      'The caller lacks the permission that the message names, only another principal can ' +
      'answer the question, or the caller reaches only its own sessions or end user.',
    remedy:
      'Use another key, or create one with this permission by `POST /v1/keys`. A host names ' +
      'the permissions of its users in `authorize`. Answer as the ' +
      'principal of the message. Leave out `executionPrincipal` and `endUserId`.',
  },
  NOT_FOUND: {
    status: 404,
    cause: 'The project of the API key has no such resource, or the server has no such route.',
    remedy: 'Check the id and the path. A key sees only the resources of its project.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    cause: 'The path has no such method.',
    remedy: 'Use a method that the `Allow` header names.',
  },
  AGENT_NOT_RUNNING: {
    status: 409,
    cause: 'The agent is stopped, still starting, or failed. Nothing was stored.',
    remedy:
      'With `Retry-After`, send again after that time. Without it, read `lastError` of the agent ' +
      'and start the agent with `POST /v1/agents/:id/start`.',
  },
  CONFLICT: {
    status: 409,
    cause: 'The resource is not in a state for this request, or a limit of the project is reached.',
    remedy: 'Read the message and the resource. Change the state first, or accept it as it is.',
  },
  GONE: {
    status: 410,
    cause: 'The events after this cursor were purged, or the cursor belongs to another project.',
    remedy:
      'Read again without `after`. Compare your data with the API, because events are missing.',
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    cause: 'The body has more bytes than the service accepts. Nothing was stored.',
    remedy: 'Send less. Put large content elsewhere, and send its address.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    cause: 'The body is not JSON in UTF-8, or has a content encoding.',
    remedy: 'Send `Content-Type: application/json` without `Content-Encoding`.',
  },
  IDEMPOTENCY_MISMATCH: {
    status: 422,
    cause: 'An earlier send to the agent had the same key and another session or content.',
    remedy: 'Use a new key for each new message, and the same key only to repeat a send.',
  },
  TOO_MANY_REQUESTS: {
    status: 429,
    cause:
      'The limit of sends is reached, the queue of the session is full, or too much is open. Or ' +
      'your address sent too many wrong credentials.',
    remedy: 'Wait for `Retry-After`, then try again. Let the session finish its messages.',
  },
  INTERNAL_ERROR: {
    status: 500,
    cause: 'The server has a defect, or its host reads bodies before the service does.',
    remedy: 'Look for the `requestId` in the log of the server, and report the defect.',
  },
  UNAVAILABLE: {
    status: 503,
    cause:
      'The service cannot reach its storage, the storage has not confirmed a message within five ' +
      'seconds, or more requests arrive than the service can handle.',
    remedy:
      'Try again after `Retry-After`. Repeat a send with the same `Idempotency-Key`: if its ' +
      'message was stored, you get that message, and it does not run twice.',
  },
} as const satisfies Readonly<Record<string, Code>>
export type ErrorCode = keyof typeof errorCodes
