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
import type { Command } from 'commander'
import type { Config } from '../config.js'
import { devFiles } from '../dev-files.js'
import { loadConfig } from '../load-config.js'
import { OperatorError } from '../operator-error.js'
import { ownUrl } from '../own-url.js'
import { shellWord } from '../shell-word.js'
import { example, fileOrStdin, jsonFile, jsonOption, serverUrl, wholeNumber } from './options.js'
import { print, progress, toShow } from './output.js'

type SendOptions = {
  readonly url?: string
  readonly apiKey?: string
  readonly session?: string
  readonly endUser?: string
  readonly service?: true
  readonly metadata?: JsonObject
  readonly idempotencyKey?: string
  readonly wait?: number
  readonly stream?: true
  readonly json?: true
}
type Work = {
  readonly client: Client
  readonly agent: string
  readonly message: NewMessage
  readonly options: SendOptions
}

export function addSend(program: Command): void {
  program
    .command('send')
    .argument('<agent>', 'its name or id')
    .argument('<message>', 'what to say; - reads it from stdin', textOrStdin)
    .description('send a message to an agent of a running server, and print its answer')
    .option('--session <id>', 'the conversation it belongs to (one of its own, unless given)')
    .option('--end-user <id>', 'on behalf of this end user')
    .option('--service', 'on behalf of the service itself')
    .option('--metadata <file>', 'a JSON object to go with it: a file', jsonFile)
    .option('--idempotency-key <key>', 'one key makes one message, however often it is sent')
    .option(
      '--wait <seconds>',
      'wait so long at most, 0 for not at all (until the message is finished, unless given)',
      wholeNumber(0),
    )
    .option('--stream', 'print the answer piece by piece as it comes')
    .option(
      '--url <url>',
      'where the server is (SERVICE_PUBLIC_URL, or HOST and PORT, unless given)',
      serverUrl,
    )
    .option(
      '--api-key <key>',
      'with project:message (SERVICE_BOOTSTRAP_API_KEY, or what dev keeps in data/, unless given)',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging send echo "Hello"',
        'agent-messaging send echo "And then?" --session first --end-user u-1 --stream',
        'git log -5 | agent-messaging send support - --wait 0 --json',
      ),
    )
    .action(send)
}

const textOrStdin = (text: string): string =>
  text === '-' ? fileOrStdin('-').toString().trimEnd() : text

async function send(agent: string, text: string, options: SendOptions): Promise<void> {
  if (options.endUser !== undefined && options.service)
    throw new OperatorError('--end-user and --service exclude each other', 2)
  if (options.stream && options.wait !== undefined)
    throw new OperatorError('--stream and --wait exclude each other', 2)
  const config = loadConfig()
  const baseUrl = options.url ?? config.publicUrl ?? ownUrl(config.host, config.port)
  const client = createClient({ baseUrl, apiKey: apiKeyOf(config, options), retries: 1 })
  const message = messageOf(text, options)
  try {
    await wayOf(options)({ client, agent, message, options })
  } catch (error) {
    throw explained(error, baseUrl, agent)
  }
}

const wayOf = ({ stream, wait }: SendOptions) =>
  stream ? follow : wait === undefined ? complete : sendAndWait

function apiKeyOf(config: Config, { apiKey }: SendOptions): string {
  const kept = existsSync(devFiles.apiKey)
    ? readFileSync(devFiles.apiKey, 'utf8').trim()
    : undefined
  // An empty one is a variable that is not set here.
  const found = apiKey || (config.bootstrapApiKey ?? kept)
  if (found) return found
  throw new OperatorError(
    'there is no API key: give --api-key; `agent-messaging keys create` makes one',
    2,
  )
}

/** What is sent again with its key has to be the same, the session that it begins too. */
function messageOf(
  message: string,
  { session, endUser, service, metadata, idempotencyKey }: SendOptions,
): NewMessage {
  const principal =
    endUser === undefined
      ? service && { type: 'service' as const }
      : { type: 'end_user' as const, endUserId: endUser }
  return {
    ...{
      sessionId:
        session ??
        `cli-${idempotencyKey === undefined ? randomUUID() : hash('sha256', idempotencyKey)}`,
      message,
    },
    ...(metadata && { metadata }),
    ...(principal && { executionPrincipal: principal }),
  }
}

const keyIn = ({ idempotencyKey }: SendOptions) =>
  idempotencyKey === undefined ? {} : { idempotencyKey }

async function complete({ client, agent, message, options }: Work): Promise<void> {
  const bar = progress()
  bar.show('Waiting for the answer…')
  const done = await client.messages
    .complete(agent, message, keyIn(options))
    .finally(() => bar.end())
  finish(done, options.json)
}

async function sendAndWait({ client, agent, message, options }: Work): Promise<void> {
  const sent = await client.messages.send(agent, message, {
    ...keyIn(options),
    waitSeconds: options.wait ?? 0,
  })
  print(options.json, sent, textOf(sent))
}

const textOf = (sent: Sent): string =>
  sent.status === 'responded'
    ? sent.response
    : `Accepted as the message ${sent.messageId}, which has no answer yet.`

/** Pieces of an attempt that was given up are not the answer's: a new line begins with each attempt. */
async function follow({ client, agent, message, options }: Work): Promise<void> {
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

async function showStream(
  { client, agent, options }: Omit<Work, 'message'>,
  messageId: string,
): Promise<void> {
  let shown: { attempt: number; length: number } | undefined
  for await (const told of client.messages.stream(agent, messageId)) {
    if (options.json) console.log(toShow(JSON.stringify(told)))
    if (told.event === 'chunk' && !options.json) {
      if (shown && shown.attempt !== told.attempt) process.stdout.write('\n')
      process.stdout.write(toShow(told.text))
      shown = { attempt: told.attempt, length: told.offset + told.text.length }
    }
    if (told.event === 'message') end(told.message, shown, options.json)
  }
}

function end(
  message: Message,
  shown: { attempt: number; length: number } | undefined,
  json: true | undefined,
): void {
  const isWhole =
    shown !== undefined &&
    shown.attempt === message.attempt &&
    shown.length === message.response?.length
  if (shown && !json) process.stdout.write('\n')
  if (json || isWhole) return requireAnswer(message)
  finish(message, json)
}

function finish(message: Message, json: true | undefined): void {
  if (json) print(json, message, '')
  requireAnswer(message)
  if (!json) print(json, message, message.response ?? '')
}

function requireAnswer({ messageId, state, error }: Message): void {
  if (state === 'responded') return
  throw new OperatorError(
    `the message ${messageId} is ${state}${error ? `: ${error.message} (${error.code})` : ''}`,
  )
}

function explained(error: unknown, baseUrl: string, agent: string): unknown {
  if (error instanceof NotCompletedError)
    return new OperatorError(`${error.message}; the work goes on, and its webhook tells the end`)
  if (error instanceof ApiError)
    return new OperatorError(
      `the server refuses it: ${[error.message.replace('GET /v1/agents/:id', `agent-messaging agents show ${shellWord(agent)}`), ...hintsOf(error)].join('; ')}`,
    )
  if (!(error instanceof TypeError)) return error
  return new OperatorError(
    `no server answers at ${baseUrl}: start one with \`agent-messaging dev\`, or give --url`,
  )
}

/** What the sentence does not say already. */
function hintsOf({ code, issues, message: said }: ApiError): string[] {
  if (code === 'UNAUTHORIZED') return ['see --api-key']
  return issues
    .map(({ path, message }) => `${path} ${message}`)
    .filter((issue) => !said.includes(issue))
}
