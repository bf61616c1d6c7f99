import { InvalidArgumentError, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { signatureReport } from '../signature-report.js'
import { example, fileOrStdin, jsonOption, wholeNumber } from './options.js'
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
  withSecret(
    program.command('verify'),
    "the webhook's secret, whsec_… (WEBHOOK_SECRET, unless given)",
  )
    .argument('<body>', 'the body as it came: a file, or - for stdin', fileOrStdin)
    .description('check the signature of a webhook request, and say what is wrong with it')
    .option(
      '--headers <file>',
      "the request's headers: a file with one a line, or a JSON object",
      headersFile,
    )
    .option(
      '-H, --header <header>',
      'one header, as curl takes it; can be given several times',
      oneMore,
    )
    .option('--tolerance <seconds>', 'how old it may be', wholeNumber(0), 300)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging verify body.json --headers headers.txt --secret-file secret.txt',
        "WEBHOOK_SECRET=$(cat secret.txt) agent-messaging verify - -H 'webhook-id: …' -H 'webhook-timestamp: …' -H 'webhook-signature: v1,…' < body.json",
      ),
    )
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
      `✓ genuine: ${event}, delivery ${deliveryId}, signed at ${signedAt}`,
    )
    return
  }
  if (json) print(json, { verified: false, code: report.code, reason: report.reason }, '')
  throw new OperatorError(`✗ not to be believed: ${report.reason}`)
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
    throw new InvalidArgumentError('It is neither JSON nor one header a line.')
  }
}

/** Nothing for a line that is none, such as the request line above them. */
function headerIn(line: string): Headers {
  const [, name, value] = /^([\w-]+): *(.*?) *$/.exec(line) ?? []
  return name === undefined || value === undefined ? {} : { [name.toLowerCase()]: value }
}

function oneMore(text: string, before: Headers | undefined): Headers {
  const header = headerIn(text)
  if (Object.keys(header).length > 0) return { ...before, ...header }
  throw new InvalidArgumentError("It takes a header such as 'webhook-id: 0198…'.")
}
