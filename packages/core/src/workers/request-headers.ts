import {
  withCustomHeaders,
  withoutHeaderValues,
  withRedactedHeaders,
  type CustomHeaders,
} from '../domain/custom-headers.js'
import type { Sealed } from '../domain/sealed.js'
import { signatureHeaders } from '../domain/signature.js'
import { childTrace } from '../domain/trace.js'
import { signingSecrets, webhookHeadersContext, webhookSecretContext } from '../domain/webhook.js'
import type { AttemptOrder } from '../ports/attempt-maker.js'
import type { AttemptMakerOptions } from './attempt-maker.js'

/** `kept` is what people may see: the customer's own headers without their values. `redact` takes them out of what the receiver says. */
export type RequestHeaders = {
  readonly sent: Readonly<Record<string, string>>
  readonly kept: Readonly<Record<string, string>>
  redact(text: string): string
}

type HeaderDeps = Pick<AttemptMakerOptions, 'clock' | 'crypto' | 'policy'>

/** The headers of one attempt, signed now. Undefined when a secret cannot be unsealed: then nothing may be sent. */
export function requestHeaders(
  d: HeaderDeps,
  { delivery, webhook, body, trace }: AttemptOrder,
): RequestHeaders | undefined {
  const at = d.clock.now()
  const { signing, next } = signingSecrets(webhook, at)
  const unseal = (sealed: Sealed): string | undefined =>
    d.crypto.unseal(sealed, webhookSecretContext(webhook.id))
  const secret = unseal(signing)
  const nextSecret = next && unseal(next)
  const custom = customHeaders(d, webhook)
  if (secret === undefined || (next && nextSecret === undefined) || !custom) return undefined
  const signed = {
    id: delivery.id,
    event: delivery.event,
    body,
    secret,
    nextSecret,
    at,
    headerPrefix: d.policy.headerPrefix,
  }
  const ours = {
    'content-type': 'application/json',
    ...signatureHeaders(d.crypto.hmacSha256, signed),
    ...(trace && childTrace(trace, d.crypto.randomBytes)),
  }
  if (!webhook.headers) return { sent: ours, kept: ours, redact: (text) => text }
  return {
    sent: withCustomHeaders(ours, custom),
    kept: withRedactedHeaders(ours, custom),
    redact: (text) => withoutHeaderValues(text, custom),
  }
}

function customHeaders(
  { crypto }: HeaderDeps,
  { id, headers }: AttemptOrder['webhook'],
): CustomHeaders | undefined {
  if (!headers) return {}
  const text = crypto.unseal(headers.sealed, webhookHeadersContext(id))
  return text === undefined ? undefined : (JSON.parse(text) as CustomHeaders)
}
