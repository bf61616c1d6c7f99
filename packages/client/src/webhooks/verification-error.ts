const explanations = {
  BODY_ALREADY_PARSED:
    'The body was parsed before it was verified, and what is signed are its bytes: hand over the raw body ' +
    '(express.raw({ type: "application/json", limit: "8mb" }) for this route, before express.json(); await request.text() elsewhere)',
  BODY_TOO_LONG:
    'The body is longer than `maxBodyBytes` allows, and the service sends none that long unless its limits were raised',
  HEADERS_MISSING:
    'The request has no webhook-id, webhook-timestamp and webhook-signature: it is not a webhook of this service',
  TIMESTAMP_TOO_FAR:
    'The request was signed too long ago, or in the future: it may be a replay, or a clock is wrong',
  SIGNATURE_MISMATCH:
    'No signature fits the body and the secret: the secret is another one, or the body was changed on its way',
  SECRET_MISSING:
    'There is no secret: set WEBHOOK_SECRET, or what your program reads it from, to the webhook’s whsec_…',
  SECRET_INVALID: 'A secret is whsec_ followed by base64, as the service has shown it',
  BODY_NOT_AN_EVENT: 'The signature fits, but the body is not an event',
} as const
export type VerificationErrorCode = keyof typeof explanations

/** Why a request must not be believed. Its message says what to do about it. */
export class WebhookVerificationError extends Error {
  readonly code: VerificationErrorCode

  constructor(code: VerificationErrorCode) {
    super(explanations[code])
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
