import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { Client } from '@org/agent-messaging-client'
import type { Command } from 'commander'
import { devFiles } from '../dev-files.js'
import { OperatorError } from '../operator-error.js'
import { createReceiver } from '../receiver.js'
import { orRefusal } from './client-error.js'
import { example, wholeNumber } from './options.js'
import { secretOf, withSecret, type SecretOptions } from './secret.js'
import { runningServer } from './send.js'

type ListenOptions = SecretOptions & {
  readonly port: number
  readonly status: number
  readonly try?: true
}

export function addListen(program: Command): void {
  withSecret(
    program.command('listen'),
    "the webhook's secret, for checking signatures (default: $WEBHOOK_SECRET)",
  )
    .description('receive webhooks, check their signatures and print them')
    .option('--port <port>', 'port to listen on', wholeNumber(0, 65_535, 'a port'), 4000)
    .option(
      '--status <code>',
      'status code of the responses',
      wholeNumber(200, 599, 'a final status code'),
      200,
    )
    .option('--try', 'register this receiver at the server of `dev`, and send a first message')
    .addHelpText(
      'after',
      example(
        'agent-messaging listen --try',
        'agent-messaging listen --secret-file secret.txt',
        'WEBHOOK_SECRET=$(cat secret.txt) agent-messaging listen --port 4001',
      ),
    )
    .action(listen)
}

async function listen(options: ListenOptions): Promise<void> {
  const secret = secretOf(options) ?? (options.try && devSecret())
  const server = createReceiver({
    secret,
    status: options.status,
    print: (lines) => console.log(lines),
  }).listen(options.port, '127.0.0.1')
  await once(server, 'listening').catch(({ code, message }: NodeJS.ErrnoException) => {
    throw new OperatorError(
      code === 'EADDRINUSE'
        ? `port ${options.port} is in use; choose another with --port`
        : `cannot listen on port ${options.port}: ${message}`,
    )
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  console.log(`Listening for webhooks on ${url} (press Ctrl-C to stop)\n`)
  if (!options.try || secret === undefined) return
  try {
    await tryOut(runningServer({}).client, url, secret)
  } catch (error) {
    server.close()
    throw error
  }
}

function devSecret(): string {
  if (existsSync(devFiles.webhookSecret)) return readFileSync(devFiles.webhookSecret, 'utf8').trim()
  throw new OperatorError(
    `${devFiles.webhookSecret} is missing; start \`agent-messaging dev\` in this folder first`,
    2,
  )
}

async function tryOut(client: Client, url: string, secret: string): Promise<void> {
  await orRefusal(register(client, url, secret), 'cannot register the receiver')
  const sent = await orRefusal(
    client.messages.send('echo', { sessionId: 'first', message: 'Hello' }),
    'cannot send a message to the agent echo',
  )
  console.log(`Registered ${url}, and sent Hello to the agent echo as message ${sent.messageId}.\n`)
}

async function register(client: Client, url: string, secret: string): Promise<void> {
  for await (const webhook of client.webhooks.list()) if (webhook.url === url) return
  await client.webhooks.create({ url, events: ['*'], secret })
}
