import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, JsonRpcId, Stream } from '@agentclientprotocol/sdk'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { readLines } from '../lines.js'
import { CLIENT_METHODS, RequestError } from './acp-sdk.js'

export type AgentPipes = { readonly stdin: Writable; readonly stdout: Readable }

export type StreamEvents = {
  /** Receives the unchecked params of each `session/update`. */
  onUpdate(params: unknown): void
  /** Receives lines that are not messages or answer no open request. */
  onStray(line: string, why: string): void
  /** Receives the session of a report or a request that was too long to read. */
  onTooLong(sessionId: string): void
}

/** The limit of one message. A long answer comes in many messages. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
/** A program that never ends its line makes every turn wait. */
const MAX_LINE_BYTES = 8 * MAX_MESSAGE_BYTES
const MAX_STRAY_LENGTH = 1_000
const NEWLINE = 0x0a
const TOO_LONG = `a message of more than ${MAX_MESSAGE_BYTES} bytes`
const INVALID_REQUEST = RequestError.invalidRequest().code

/** The code of the error that replaces a response that was too long to read. */
export const RESPONSE_TOO_LONG = -32_099

/** Names the limit, for the reason of a failed turn. */
export const sentTooLong = `the agent sent ${TOO_LONG}`

/** A line that is too long and names neither a session nor an open request. */
export class MessageTooLong extends Error {
  override readonly message = TOO_LONG
}

/**
 * Turns a child's pipes into a stream for the SDK. The SDK's own stream answers invalid lines and
 * waits until the agent reads. An agent that logs to stdout and reads late would block forever.
 *
 * Updates bypass the SDK in the order of the pipe. All updates of a turn arrive before its end, and
 * unknown kinds are no errors.
 */
export function agentStream(
  { stdin, stdout }: AgentPipes,
  { onUpdate, onStray, onTooLong }: StreamEvents,
): Stream {
  const openRequests = new Set<JsonRpcId>()
  const send = (message: AnyMessage, onSent?: (error?: Error | null) => void): void =>
    void stdin.write(`${JSON.stringify(message)}\n`, onSent)

  /** Ends only the turn or the request that the message belongs to. Throws if it names none. */
  function onCutLine(start: string, pass: (message: AnyMessage) => void) {
    if (!start.trimStart().startsWith('{'))
      return onStray(start.slice(0, MAX_STRAY_LENGTH), `the line is ${TOO_LONG}`)
    const { id, method, sessionId } = fieldsOf(start)
    const isResponse = method === undefined && id !== undefined
    if (isResponse && openRequests.delete(id))
      return pass(failure(id, RESPONSE_TOO_LONG, sentTooLong))
    if (method !== undefined && id !== undefined)
      send(failure(id, INVALID_REQUEST, `the service refuses ${TOO_LONG}`))
    if (sessionId !== undefined) onTooLong(sessionId)
    else if (method === undefined || id === undefined) throw new MessageTooLong()
  }

  function onLine(line: string, isCut: boolean, pass: (message: AnyMessage) => void) {
    if (isCut) return onCutLine(line, pass)
    if (line.trim() === '') return
    const message = parse(line)
    if (!message) return onStray(line, 'not a JSON object')
    if ('method' in message)
      return message.method === CLIENT_METHODS.session_update
        ? onUpdate(message.params)
        : pass(message)
    if (!openRequests.delete(message.id))
      return onStray(line, 'the response belongs to no open request')
    pass(message)
  }

  return {
    readable: messagesOf(stdout, onLine),
    writable: new WritableStream({
      write: (message) => {
        if ('method' in message && 'id' in message) openRequests.add(message.id)
        return new Promise((resolve, reject) =>
          send(message, (error) => (error ? reject(error) : resolve())),
        )
      },
    }),
  }
}

/** Reads to the end even after the connection has closed, so that the program never blocks. */
function messagesOf(
  stdout: Readable,
  onLine: (line: string, isCut: boolean, pass: (message: AnyMessage) => void) => void,
): ReadableStream<AnyMessage> {
  let isOpen = true
  /** Bytes since the last newline. */
  let unfinished = 0
  return new ReadableStream({
    start(controller) {
      const end = (endStream: () => void) => {
        if (isOpen) endStream()
        isOpen = false
      }
      const fail = (error: unknown) => end(() => controller.error(error))
      const read = readLines(stdout, MAX_MESSAGE_BYTES, (line, isCut) => {
        if (!isOpen) return
        try {
          onLine(line, isCut, (message) => controller.enqueue(message))
        } catch (error) {
          fail(error)
        }
      })
      stdout.on('data', (chunk: Buffer) => {
        const newline = chunk.lastIndexOf(NEWLINE)
        unfinished = newline === -1 ? unfinished + chunk.length : chunk.length - newline - 1
        if (unfinished > MAX_LINE_BYTES) fail(new MessageTooLong())
      })
      void read.then(() => end(() => controller.close()), fail)
    },
    cancel() {
      isOpen = false
    },
  })
}

const failure = (id: JsonRpcId, code: number, message: string): AnyMessage => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

/** Returns undefined if the line is not a JSON object. The SDK validates the message itself. */
function parse(line: string): AnyMessage | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? (value as unknown as AnyMessage) : undefined
  } catch {
    return undefined
  }
}

type Fields = {
  readonly id?: string | number
  readonly method?: string
  readonly sessionId?: string
}

/** The fields are near the start of every message, before its content. */
const MAX_LENGTH = 64 * 1024
const TOKEN = /[\s,]*(?:("(?:[^"\\]|\\.)*")(\s*:)?|([{}[\]])|([^\s,{}[\]":]+))/y

/**
 * Returns the fields that tell whose message this is: `id`, `method` and `params.sessionId`. Reads
 * only the start of the message, because the message is too long to keep. Fields inside of the
 * content do not count.
 */
export function fieldsOf(start: string): Fields {
  const fields: Record<string, unknown> = {}
  /** The key of the current value at each depth. */
  const path: string[] = []
  let depth = 0
  for (const [, text, colon, bracket, literal] of tokensOf(start.slice(0, MAX_LENGTH))) {
    if (bracket !== undefined) {
      depth += bracket === '{' || bracket === '[' ? 1 : -1
    } else if (colon !== undefined) {
      path.length = depth
      path[depth] = String(valueOf(text))
    } else if (depth === path.length - 1) {
      fields[path.slice(1).join('.')] ??= valueOf(text ?? literal)
    }
  }
  const { id, method, 'params.sessionId': sessionId } = fields
  return {
    ...((typeof id === 'string' || typeof id === 'number') && { id }),
    ...(typeof method === 'string' && { method }),
    ...(typeof sessionId === 'string' && { sessionId }),
  }
}

function* tokensOf(json: string): Generator<RegExpExecArray> {
  const token = new RegExp(TOKEN)
  for (let found = token.exec(json); found; found = token.exec(json)) yield found
}

/** Returns undefined if the token is not valid JSON. */
function valueOf(token = ''): unknown {
  try {
    return JSON.parse(token)
  } catch {
    return undefined
  }
}
