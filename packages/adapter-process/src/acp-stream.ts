import type { Readable, Writable } from 'node:stream'
import {
  CLIENT_METHODS,
  type AnyMessage,
  type JsonRpcId,
  type Stream,
} from '@agentclientprotocol/sdk'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { readLines } from './lines.js'

export type AgentPipes = { readonly stdin: Writable; readonly stdout: Readable }

export type StreamEvents = {
  /** Receives the unchecked params of each `session/update`. */
  onUpdate(params: unknown): void
  /** Receives lines that are not messages or answer no open request. */
  onStray(line: string, why: string): void
}

/** The limit of one message. A long answer comes in many messages. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a

export class MessageTooLong extends Error {
  override readonly message = `a message of more than ${MAX_MESSAGE_BYTES} bytes`
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
  { onUpdate, onStray }: StreamEvents,
): Stream {
  const openRequests = new Set<JsonRpcId>()

  function onLine(line: string, pass: (message: AnyMessage) => void): void {
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
        return new Promise((resolve, reject) => {
          stdin.write(`${JSON.stringify(message)}\n`, (error) =>
            error ? reject(error) : resolve(),
          )
        })
      },
    }),
  }
}

/** Reads to the end even after the connection has closed, so that the program never blocks. */
function messagesOf(
  stdout: Readable,
  onLine: (line: string, pass: (message: AnyMessage) => void) => void,
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
      const tooLong = () => end(() => controller.error(new MessageTooLong()))
      const read = readLines(stdout, MAX_MESSAGE_BYTES, (line, isCut) => {
        if (isCut) tooLong()
        else if (isOpen) onLine(line, (message) => controller.enqueue(message))
      })
      stdout.on('data', (chunk: Buffer) => {
        const newline = chunk.lastIndexOf(NEWLINE)
        unfinished = newline === -1 ? unfinished + chunk.length : chunk.length - newline - 1
        if (unfinished > MAX_MESSAGE_BYTES) tooLong()
      })
      void read.then(
        () => end(() => controller.close()),
        (error: unknown) => end(() => controller.error(error)),
      )
    },
    cancel() {
      isOpen = false
    },
  })
}

/** Returns undefined if the line is not a JSON object. The SDK validates the message itself. */
function parse(line: string): AnyMessage | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? (value as unknown as AnyMessage) : undefined
  } catch {
    return undefined
  }
}
