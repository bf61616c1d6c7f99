import { Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { addCommand } from './command.js'
import { wholeNumber } from './options.js'
import { secretOf, withSecret, type SecretOptions } from './secret.js'
import { keyOption, runningServer, urlOption, type ServerOptions } from './send.js'
import { tryOut } from './try-out.js'

type ListenOptions = SecretOptions &
  ServerOptions & {
    readonly port?: number
    readonly status?: number
    readonly try?: true
  }

export function addListen(program: Command): void {
  const command = addCommand(
    program,
    'listen',
    'receive webhooks, check their signatures and print them',
    [
      'agent-messaging listen --try',
      'agent-messaging listen --secret-file secret.txt',
      'WEBHOOK_SECRET=$(cat secret.txt) agent-messaging listen --port 4001',
    ],
  )
  withSecret(command, "the webhook's secret, for checking signatures (default: $WEBHOOK_SECRET)")
    .option(
      '--port <port>',
      'port to listen on (default: 4000, with --try a free port)',
      wholeNumber(0, 65_535, 'a port'),
    )
    .option(
      '--status <code>',
      'status code of the responses (default: 200)',
      wholeNumber(200, 599, 'a final status code'),
    )
    .addOption(
      new Option(
        '--try',
        'register a webhook, send a message to the agent echo, print its webhook, and end',
      ).conflicts(['secret', 'secretFile', 'status']),
    )
    .addOption(urlOption())
    .addOption(keyOption('project:message and project:webhooks'))
    .action(listen)
}

async function listen(options: ListenOptions): Promise<void> {
  if (options.try) return tryOut(runningServer(options), options.port ?? 0)
  if (options.url !== undefined || options.apiKey !== undefined)
    throw new OperatorError('--url and --api-key need --try', 2)
  const { openReceiver } = await import('../receiver.js')
  const { url } = await openReceiver({
    port: options.port ?? 4000,
    secret: secretOf(options),
    status: options.status,
    onDelivery: ({ text }) => console.log(text),
  })
  console.log(`Listening for webhooks on ${url}/ (press Ctrl-C to stop)\n`)
}
