import { InvalidArgumentError, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { signatureReport } from '../signature-report.js'
import { addCommand } from './command.js'
import { fileOrStdin, jsonOption, wholeNumber } from './options.js'
import { print } from './output.js'
import { requireSecret, withSecret, type SecretOptions } from './secret.js'

type Headers = Readonly<Record<string, string>>
type VerifyOptions = SecretOptions & {
  readonly headers?: Headers
  readonly header?: Headers
  readonly tolerance: number
  readonly json?: true
}

export function addVerify(program: Command): void {
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
    .action(verify)
}

async function verify(
  body: Buffer,
  { headers, header, tolerance, json, ...given }: VerifyOptions,
): Promise<void> {
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

function headersFile(file: string): Headers {
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
function headerIn(line: string): Headers {
  const [, name, value] = /^([\w-]+): *(.*?) *$/.exec(line) ?? []
  return name === undefined || value === undefined ? {} : { [name.toLowerCase()]: value }
}

function addHeader(text: string, before: Headers | undefined): Headers {
  const header = headerIn(text)
  if (Object.keys(header).length > 0) return { ...before, ...header }
  throw new InvalidArgumentError("Expected a header such as 'webhook-id: 0198…'.")
}
