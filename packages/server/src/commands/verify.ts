import { InvalidArgumentError, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { addCommand } from './command.js'
import { fileOrStdin, jsonOption, wholeNumber } from './options.js'
import { print } from './output.js'
import { requireSecret, withSecret, type SecretOptions } from './secret.js'
import { verify, WebhookVerificationError } from '@org/agent-messaging-client/webhooks'
import { hasPlainSignature } from '@org/agent-messaging-console/catch-webhook'

type Headers = Readonly<Record<string, string>>
type VerifyOptions = SecretOptions & {
  readonly headers?: Headers
  readonly header?: Headers
  readonly tolerance: number
  readonly json?: true
}

export function addVerify(program: Command) {
  const command = addCommand(
    program,
    'verify',
    'verify the signature of a webhook request, and explain a mismatch',
    [
      'agent-messaging verify body.json --headers headers.txt --secret-file secret.txt',
      "WEBHOOK_SECRET=$(cat secret.txt) agent-messaging verify - -H 'webhook-id: …' -H 'webhook-timestamp: …' -H 'webhook-signature: v1,…' < body.json",
    ],
  )
  withSecret(command, "the webhook's secret, whsec_… (default: $WEBHOOK_SECRET)")
    .argument('<body>', 'file with the raw request body, - for stdin', fileOrStdin)
    .option(
      '--headers <file>',
      'file with the request headers, one per line or as a JSON object',
      headersFile,
    )
    .option(
      '-H, --header <header>',
      "one header, such as 'webhook-id: 0198…' (repeatable)",
      addHeader,
    )
    .option('--tolerance <seconds>', 'maximum age of the request', wholeNumber(0), 300)
    .addOption(jsonOption())
    .action(printReport)
}

async function printReport(
  body: Buffer,
  { headers, header, tolerance, json, ...given }: VerifyOptions,
) {
  const secret = requireSecret(given)
  const request = {
    body,
    headers: { ...headers, ...header },
    secret,
    toleranceSeconds: tolerance,
    now: Date.now(),
  }
  const report = await signatureReport(request)
  if (report.isGood) {
    const { deliveryId, event, signedAt } = report
    print(
      json,
      { verified: true, deliveryId, event, signedAt },
      `✓ valid: ${event}, delivery ${deliveryId}, signed at ${signedAt}`,
    )
    return
  }
  if (json) print(json, { verified: false, code: report.code, reason: report.reason }, '')
  throw new OperatorError(`✗ invalid: ${report.reason}`)
}

function headersFile(file: string) {
  const text = fileOrStdin(file).toString()
  if (!text.trimStart().startsWith('{'))
    return Object.assign({}, ...text.split(/\r?\n/).map(headerIn)) as Headers
  try {
    const given = JSON.parse(text) as Record<string, unknown>
    return Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name.toLowerCase(), String(value)]),
    )
  } catch {
    throw new InvalidArgumentError('Expected a JSON object or one header per line.')
  }
}

/** Empty if the line is not a header, such as the request line. */
function headerIn(line: string) {
  const [, name, value] = /^([\w-]+): *(.*?) *$/.exec(line) ?? []
  return name === undefined || value === undefined ? {} : { [name.toLowerCase()]: value }
}

function addHeader(text: string, before: Headers | undefined) {
  const header = headerIn(text)
  if (Object.keys(header).length > 0) return { ...before, ...header }
  throw new InvalidArgumentError("Expected a header such as 'webhook-id: 0198…'.")
}

export type SignedRequest = {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly secret: string
  readonly toleranceSeconds: number
  /** Milliseconds since 1970. */
  readonly now: number
}
/** Verifies a webhook request. If it is invalid, finds the most likely reason. */
export async function signatureReport(request: SignedRequest) {
  const { body, headers, secret, toleranceSeconds, now } = request
  try {
    const { deliveryId, signedAt, event } = await verify(body, headers, secret, {
      toleranceSeconds,
      now: () => now,
    })
    return {
      isGood: true as const,
      deliveryId,
      event: event.event,
      signedAt: new Date(signedAt).toISOString(),
    }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    return { isGood: false as const, code: error.code, reason: await reasonOf(error, request) }
  }
}

async function reasonOf(error: WebhookVerificationError, request: SignedRequest) {
  if (error.code === 'TIMESTAMP_TOO_FAR') return timeReason(request)
  if (error.code === 'HEADERS_MISSING') return missingReason(request)
  if (error.code === 'SIGNATURE_MISMATCH') return (await mismatchReason(request)) ?? error.message
  return error.message
}

function timeReason({ headers, now, toleranceSeconds }: SignedRequest) {
  const text = headers['webhook-timestamp'] ?? ''
  const seconds = Number(text)
  if (!Number.isFinite(seconds))
    return `webhook-timestamp must be seconds since 1970; got ${JSON.stringify(text)}`
  const away = Math.round(now / 1_000 - seconds)
  const way = away > 0 ? `${away} s ago` : `${-away} s in the future`
  return `the request was signed ${way}, more than ${toleranceSeconds} s from this machine's clock, so it can be a replay; raise --tolerance for an old request`
}

function missingReason({ headers }: SignedRequest) {
  const missing = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].filter(
    (name) => !headers[name],
  )
  return `the headers lack ${missing.join(' and ')}; pass all headers of the request`
}

/** Tries likely changes to the request. Undefined if no change explains the mismatch. */
async function mismatchReason(request: SignedRequest) {
  if (isPlainlySigned(request))
    return 'the body and the secret are correct, but webhook-id, webhook-timestamp or webhook-signature was changed'
  for (const { change, body } of originalBodies(request.body)) {
    if (await isSigned({ ...request, body }))
      return `the secret is correct, but the body was changed: ${change}`
  }
  return undefined
}

const isPlainlySigned = ({ headers, body, secret }: SignedRequest) =>
  hasPlainSignature(new Headers(headers), body, secret)

const isSigned = async (request: SignedRequest) =>
  isPlainlySigned(request) ||
  (await verify(request.body, request.headers, request.secret, { now: () => request.now }).then(
    () => true,
    () => false,
  ))

/** Reverts typical changes by editors, shells and body parsers. */
function originalBodies(body: Buffer) {
  const text = body.toString()
  return [
    { change: 'a line break was added at its end', text: text.replace(/\r?\n$/, '') },
    { change: 'its line breaks were converted', text: text.replaceAll('\r\n', '\n') },
    { change: 'white space was added around it', text: text.trim() },
    { change: 'a byte order mark was added', text: text.replace(/^\uFEFF/, '') },
    {
      change: 'a parser and serializer changed it (use the raw bytes of the request)',
      text: compact(text),
    },
  ].flatMap(({ change, text: original }) =>
    original === text ? [] : { change, body: Buffer.from(original) },
  )
}

function compact(text: string) {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}
