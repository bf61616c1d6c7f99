const messages = {
  BODY_ALREADY_PARSED:
    'The body was parsed before it was verified. The signature covers the raw bytes: pass them. ' +
    'In Express, use express.raw({ type: "application/json", limit: "8mb" }) for this route, ' +
    'before express.json(). Elsewhere, use await request.text()',
  BODY_TOO_LONG:
    'The body is longer than `maxBodyBytes`: raise it only if you raised the limits of the service',
  HEADERS_MISSING:
    'The request is no webhook: webhook-id, webhook-timestamp or webhook-signature is missing',
  TIMESTAMP_TOO_FAR:
    'The request was signed too long ago or in the future. A replay or a wrong clock can be the cause',
  SIGNATURE_MISMATCH:
    'No signature matches the body and the secret: the secret is wrong, or the body was changed',
  SECRET_MISSING:
    'The webhook secret is missing: set WEBHOOK_SECRET, or your own setting, to the whsec_… secret',
  SECRET_INVALID:
    'The webhook secret must be whsec_ followed by base64, exactly as the service showed it',
  BODY_NOT_AN_EVENT: 'The signature is valid, but the body is not an event',
} as const
export type VerificationErrorCode = keyof typeof messages

/** The reason why a request is not valid. The message says what to do. */
export class WebhookVerificationError extends Error {
  readonly code: VerificationErrorCode

  constructor(code: VerificationErrorCode) {
    super(messages[code])
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
