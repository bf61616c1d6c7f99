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
  /** The params of a `session/update`, whatever they are. */
  onUpdate(params: unknown): void
  /** A line that is no message, or answers what was not asked or is answered already. */
  onStray(line: string, why: string): void
}

/** One message of an agent, and so the most of it that is held at once: an answer comes in many. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a

export class MessageTooLong extends Error {
  override readonly message = `a message of more than ${MAX_MESSAGE_BYTES} bytes`
}

/**
 * A child's pipes as the SDK wants them. The SDK's own stream answers each stray line, and waits for the agent to read that: one
 * that prints its log to stdout and reads late would stand still for ever, and we with it. Updates are taken out, in the order
 * of the pipe: all those of a turn have been seen when its end is, and kinds that the SDK does not know are no error.
 */
export function agentStream(
  { stdin, stdout }: AgentPipes,
  { onUpdate, onStray }: StreamEvents,
): Stream {
  const asked = new Set<JsonRpcId>()

  function take(line: string, pass: (message: AnyMessage) => void): void {
    if (line.trim() === '') return
    const message = parse(line)
    if (!message) return onStray(line, 'not a JSON object')
    if ('method' in message)
      return message.method === CLIENT_METHODS.session_update
        ? onUpdate(message.params)
        : pass(message)
    if (!asked.delete(message.id)) return onStray(line, 'no answer to anything asked')
    pass(message)
  }

  return {
    readable: readableOf(stdout, take),
    writable: new WritableStream({
      write: (message) => {
        if ('method' in message && 'id' in message) asked.add(message.id)
        return new Promise((resolve, reject) => {
          stdin.write(`${JSON.stringify(message)}\n`, (error) =>
            error ? reject(error) : resolve(),
          )
        })
      },
    }),
  }
}

/** Reads to the end whatever becomes of the connection, so that nobody waits for room in the pipe. */
function readableOf(
  stdout: Readable,
  take: (line: string, pass: (message: AnyMessage) => void) => void,
): ReadableStream<AnyMessage> {
  let isOpen = true
  let unended = 0
  return new ReadableStream({
    start(controller) {
      const end = (how: () => void) => {
        if (isOpen) how()
        isOpen = false
      }
      const tooLong = () => end(() => controller.error(new MessageTooLong()))
      const heard = readLines(stdout, MAX_MESSAGE_BYTES, (line, isCut) => {
        if (isCut) tooLong()
        else if (isOpen) take(line, (message) => controller.enqueue(message))
      })
      stdout.on('data', (chunk: Buffer) => {
        const newline = chunk.lastIndexOf(NEWLINE)
        unended = newline === -1 ? unended + chunk.length : chunk.length - newline - 1
        if (unended > MAX_MESSAGE_BYTES) tooLong()
      })
      void heard.then(
        () => end(() => controller.close()),
        (error: unknown) => end(() => controller.error(error)),
      )
    },
    cancel() {
      isOpen = false
    },
  })
}

/** Undefined for what is not JSON, or no object. What kind of message it is the SDK finds out, and tells the agent if it is none. */
function parse(line: string): AnyMessage | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) ? (value as unknown as AnyMessage) : undefined
  } catch {
    return undefined
  }
}
