import { hash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import {
  ApiError,
  createClient,
  NotCompletedError,
  type Client,
  type Message,
  type NewMessage,
  type Sent,
} from '@org/agent-messaging-client'
import type { JsonObject } from '@org/agent-messaging-core'
import { sendWebhookSettings } from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import { Option, type Command } from 'commander'
import type { Config } from '../settings/config.js'
import { devFiles } from '../settings/dev-files.js'
import { loadConfig } from '../settings/load-config.js'
import { OperatorError } from '../operator-error.js'
import { shellWord } from '../terminal.js'
import { ownUrl } from '../urls.js'
import { inOptions } from './client-error.js'
import { addCommand } from './command.js'
import {
  fileOrStdin,
  jsonFile,
  jsonOption,
  listed,
  repeatable,
  serverUrl,
  wholeNumber,
} from './options.js'
import { forStdout, print, progress } from './output.js'
import { secretIn } from './secret.js'

export type ServerOptions = {
  readonly url?: string
  readonly apiKey?: string
  readonly project?: string
}
type SendOptions = ServerOptions & {
  readonly session?: string
  readonly endUser?: string
  readonly service?: true
  readonly part?: readonly JsonObject[]
  readonly responseSchema?: JsonObject
  readonly metadata?: JsonObject
  readonly webhookUrl?: string
  readonly webhookSecretFile?: string
  readonly webhookEvent?: NonNullable<SendWebhook['events']>
  readonly idempotencyKey?: string
  readonly wait?: number
  readonly stream?: true
  readonly json?: true
}
type SendWebhook = NonNullable<NewMessage['webhook']>
type Request = {
  readonly client: Client
  readonly agent: string
  readonly message: NewMessage
  readonly options: SendOptions
}

export function addSend(program: Command) {
  addCommand(
    program,
    'send',
    'send a message to an agent of a running server and print the answer',
    [
      'agent-messaging send echo "Hello"',
      'agent-messaging send echo "And then?" --session first --end-user u-1 --stream',
      'git log -5 | agent-messaging send support - --wait 0 --json',
    ],
  )
    .argument('<agent>', 'agent name or id')
    .argument('<message>', 'text of the message, - for stdin', textOrStdin)
    .option('--session <id>', 'session to continue (default: a new session)')
    .option('--end-user <id>', 'on behalf of this end user')
    .option('--service', 'on behalf of the service itself')
    .addOption(
      listed(
        '--part <file>',
        'JSON file with a data or file part for the message (repeatable)',
        jsonFile,
      ),
    )
    .option('--response-schema <file>', 'JSON file with the JSON Schema of the answer', jsonFile)
    .option('--metadata <file>', 'JSON file with metadata for the message', jsonFile)
    .option('--webhook-url <url>', 'URL that gets the events of this message')
    .addOption(
      new Option(
        '--webhook-secret-file <file>',
        'file with the whsec_… secret that signs them, - for stdin',
      ).argParser(secretIn),
    )
    .addOption(
      repeatable(
        '--webhook-event <name>',
        'event to send to the URL, by default each change of state',
        sendWebhookSettings.events.items.enum,
      ),
    )
    .option('--idempotency-key <key>', 'send at most one message for this key, even if repeated')
    .option(
      '--wait <seconds>',
      'maximum wait for the answer, 0 for none (default: no limit)',
      wholeNumber(0),
    )
    .option('--stream', 'print the answer while the agent produces it')
    .addOption(urlOption())
    .addOption(keyOption('project:message'))
    .addOption(projectOption())
    .addOption(jsonOption())
    .action(send)
}

export const urlOption = () =>
  new Option(
    '--url <url>',
    'URL of the server (default: $SERVICE_PUBLIC_URL, or HOST and PORT)',
  ).argParser(serverUrl)
export const keyOption = (permissions: string) =>
  new Option(
    '--api-key <key>',
    `key with ${permissions} (default: $SERVICE_BOOTSTRAP_API_KEY, or data/api-key)`,
  )
export const projectOption = () =>
  new Option('--project <project>', 'for a platform key: id or externalId of the project')

const textOrStdin = (text: string) => (text === '-' ? fileOrStdin('-').toString().trimEnd() : text)

async function send(agent: string, text: string, options: SendOptions) {
  if (options.endUser !== undefined && options.service)
    throw new OperatorError('--end-user and --service cannot be combined', 2)
  if (options.stream && options.wait !== undefined)
    throw new OperatorError('--stream and --wait cannot be combined', 2)
  const { client, baseUrl } = runningServer(options)
  const message = messageOf(text, options)
  try {
    await sendBy(options)({ client, agent, message, options })
  } catch (error) {
    throw readable(error, baseUrl, agent)
  }
}

export type RunningServer = { readonly client: Client; readonly baseUrl: string }

/** A client of the server that the settings or the options name. */
export function runningServer(options: ServerOptions, retries = 1) {
  const config = loadConfig()
  const baseUrl = options.url ?? config.publicUrl ?? ownUrl(config.host, config.port)
  const { project } = options
  const apiKey = apiKeyOf(config, options)
  const client = createClient({ baseUrl, apiKey, retries, ...given({ project }) })
  return { client, baseUrl }
}

const sendBy = ({ stream, wait }: SendOptions) =>
  stream ? streamAnswer : wait === undefined ? complete : sendAndWait

function apiKeyOf(config: Config, { apiKey }: ServerOptions) {
  const stored = existsSync(devFiles.apiKey)
    ? readFileSync(devFiles.apiKey, 'utf8').trim()
    : undefined
  // `--api-key $KEY` with an unset variable counts as no option.
  const key = apiKey || (config.bootstrapApiKey ?? stored)
  if (key) return key
  throw new OperatorError(
    'an API key is required; run this in the folder of `agent-messaging dev`, or use --api-key',
    2,
  )
}

/** A repeated idempotency key needs the same body, so the default session derives from the key. */
function messageOf(
  message: string,
  { session, endUser, service, part, idempotencyKey, ...options }: SendOptions,
): NewMessage {
  const principal =
    endUser === undefined
      ? service && { type: 'service' as const }
      : { type: 'end_user' as const, endUserId: endUser }
  const { responseSchema, metadata } = options
  const newSession = idempotencyKey === undefined ? randomUUID() : hash('sha256', idempotencyKey)
  return {
    sessionId: session ?? `cli-${newSession}`,
    message,
    ...given({
      parts: part as NewMessage['parts'],
      responseSchema,
      metadata,
      executionPrincipal: principal,
      webhook: webhookOf(options),
    }),
  }
}

function webhookOf(options: SendOptions) {
  const { webhookUrl: url, webhookSecretFile: secret, webhookEvent: events } = options
  if (url !== undefined && secret !== undefined) return { url, secret, ...given({ events }) }
  if ((url ?? secret ?? events) === undefined) return undefined
  throw new OperatorError('a webhook needs --webhook-url and --webhook-secret-file', 2)
}

const keyIn = ({ idempotencyKey }: SendOptions) =>
  idempotencyKey === undefined ? {} : { idempotencyKey }

async function complete({ client, agent, message, options }: Request) {
  const bar = progress()
  bar.show('Waiting for the answer…')
  const done = await client.messages
    .complete(agent, message, keyIn(options))
    .finally(() => bar.end())
  finish(done, options.json)
}

async function sendAndWait({ client, agent, message, options }: Request) {
  const sent = await client.messages.send(agent, message, {
    ...keyIn(options),
    waitSeconds: options.wait ?? 0,
  })
  print(options.json, sent, textOf(sent))
}

export const textOf = (sent: Sent) =>
  sent.status === 'responded'
    ? sent.response
    : `Accepted message ${sent.messageId}. The agent has not answered yet.`

/** Prints the answer in parts. A new attempt starts on a new line, because it starts over. */
async function streamAnswer({ client, agent, message, options }: Request) {
  const { messageId } = await client.messages.send(agent, message, {
    ...keyIn(options),
    waitSeconds: 0,
  })
  try {
    await showStream({ client, agent, options }, messageId)
  } catch (error) {
    const isLost = error instanceof TypeError || (error instanceof ApiError && error.status >= 500)
    throw isLost
      ? new NotCompletedError(messageId, 'yet, and the connection is lost', { cause: error })
      : error
  }
}

async function showStream({ client, agent, options }: Omit<Request, 'message'>, messageId: string) {
  let shown: { attempt: number; length: number } | undefined
  for await (const event of client.messages.stream(agent, messageId)) {
    if (options.json) console.log(forStdout(JSON.stringify(event)))
    if (event.event === 'chunk' && !options.json) {
      if (shown && shown.attempt !== event.attempt) process.stdout.write('\n')
      process.stdout.write(forStdout(event.text))
      shown = { attempt: event.attempt, length: event.offset + event.text.length }
    }
    if (event.event === 'message') end(event.message, shown, options.json)
  }
}

function end(
  message: Message,
  shown: { attempt: number; length: number } | undefined,
  json: true | undefined,
) {
  const isWhole =
    shown !== undefined &&
    shown.attempt === message.attempt &&
    shown.length === message.response?.length
  if (shown && !json) process.stdout.write('\n')
  if (json || isWhole) return requireAnswer(message)
  finish(message, json)
}

function finish(message: Message, json: true | undefined) {
  if (json) print(json, message, '')
  requireAnswer(message)
  if (!json) print(json, message, message.response ?? '')
}

function requireAnswer({ messageId, state, error, input }: Message) {
  if (state === 'responded') return
  if (input)
    throw new OperatorError(
      `the agent asks: ${input.question}\n` +
        `Answer with: agent-messaging inputs answer ${messageId} <value>`,
    )
  throw new OperatorError(
    `message ${messageId} is ${state}${error ? `: ${error.message} (${error.code})` : ''}`,
  )
}

export const START_A_SERVER = '; start one with `agent-messaging dev`, or use --url'

/** Turns an error of the client into one for the operator. */
export function readable(error: unknown, baseUrl: string, agent: string): unknown {
  if (error instanceof NotCompletedError)
    return new OperatorError(
      `${error.message}; the agent continues, and webhooks receive the result`,
    )
  if (error instanceof ApiError)
    return new OperatorError(`the server rejected the message: ${reasonOf(error, agent)}`)
  if (!(error instanceof TypeError)) return error
  return new OperatorError(`no server responds at ${baseUrl}${START_A_SERVER}`)
}

function reasonOf({ code, issues, message }: ApiError, agent: string) {
  const commandTo = (action: string) => `agent-messaging agents ${action} ${shellWord(agent)}`
  const reason = inOptions(message)
    .replace('GET /v1/agents/:id', commandTo('show'))
    .replace('POST /v1/agents/:id/start', commandTo('start'))
  if (code === 'UNAUTHORIZED') return `${reason}; see --api-key`
  const others = issues
    .map((issue) => `${issue.path} ${issue.message}`)
    .filter((issue) => !message.includes(issue))
  return [reason, ...others].join('; ')
}
