import { createHmac, timingSafeEqual } from 'node:crypto'
import { verify, WebhookVerificationError } from '@org/agent-messaging-client/webhooks'

export type SignedRequest = {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly secret: string
  readonly toleranceSeconds: number
  /** ms since 1970. */
  readonly now: number
}
export type SignatureReport =
  | {
      readonly isGood: true
      readonly deliveryId: string
      readonly event: string
      readonly signedAt: string
    }
  | { readonly isGood: false; readonly code: string; readonly reason: string }

/** Whether a request is a genuine one; and if not, what happened to it, as far as that can be told from its signatures. */
export async function signatureReport(request: SignedRequest): Promise<SignatureReport> {
  const { body, headers, secret, toleranceSeconds, now } = request
  try {
    const { deliveryId, signedAt, event } = await verify(body, headers, secret, {
      toleranceSeconds,
      now: () => now,
    })
    return {
      isGood: true,
      deliveryId,
      event: event.event,
      signedAt: new Date(signedAt).toISOString(),
    }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    return { isGood: false, code: error.code, reason: await reasonOf(error, request) }
  }
}

async function reasonOf(error: WebhookVerificationError, request: SignedRequest): Promise<string> {
  if (error.code === 'TIMESTAMP_TOO_FAR') return timeReason(request)
  if (error.code === 'HEADERS_MISSING') return missingReason(request)
  if (error.code === 'SIGNATURE_MISMATCH') return (await mismatchReason(request)) ?? error.message
  return error.message
}

function timeReason({ headers, now, toleranceSeconds }: SignedRequest): string {
  const text = headers['webhook-timestamp'] ?? ''
  const seconds = Number(text)
  if (!Number.isFinite(seconds))
    return `webhook-timestamp is ${JSON.stringify(text)}, and takes seconds since 1970`
  const away = Math.round(now / 1_000 - seconds)
  const way = away > 0 ? `${away} s ago` : `${-away} s in the future`
  return `it was signed ${way}, more than ${toleranceSeconds} s from this machine's clock: it may be a replay; --tolerance allows for an old one`
}

function missingReason({ headers }: SignedRequest): string {
  const missing = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].filter(
    (name) => !headers[name],
  )
  return `there is no ${missing.join(' and no ')}: give all headers as they came`
}

/** What else would have fitted tells what was changed; nothing, if no guess does. */
async function mismatchReason(request: SignedRequest): Promise<string | undefined> {
  if (fitsPlainly(request))
    return 'body and secret are right, by the other signature: webhook-id, webhook-timestamp or webhook-signature was changed'
  for (const { what, body } of likelyBodies(request.body)) {
    if (await fits({ ...request, body }))
      return `the secret is right, and the body was changed on its way: ${what}`
  }
  return undefined
}

const fits = async (request: SignedRequest): Promise<boolean> =>
  fitsPlainly(request) ||
  (await verify(request.body, request.headers, request.secret, { now: () => request.now }).then(
    () => true,
    () => false,
  ))

/** The signature over the body alone. The beginning of its header's name is the sender's choice. */
function fitsPlainly({ headers, body, secret }: SignedRequest): boolean {
  const given = Object.entries(headers).find(
    ([name, value]) => name.endsWith('-signature') && value.startsWith('sha256='),
  )?.[1]
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  return (
    given !== undefined &&
    given.length === expected.length &&
    timingSafeEqual(Buffer.from(given), expected)
  )
}

/** What editors, shells and body parsers make of a body, undone. */
function likelyBodies(body: Buffer): { what: string; body: Buffer }[] {
  const text = body.toString()
  return [
    { what: 'it ends in a line break that was not sent', text: text.replace(/\r?\n$/, '') },
    { what: 'its line breaks are others', text: text.replaceAll('\r\n', '\n') },
    { what: 'white space around it was not sent', text: text.trim() },
    { what: 'it begins with a byte order mark', text: text.replace(/^\uFEFF/, '') },
    {
      what: 'it was parsed and written anew; keep the bytes as they came, before any parser',
      text: compact(text),
    },
  ].flatMap(({ what, text: guess }) => (guess === text ? [] : { what, body: Buffer.from(guess) }))
}

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}
