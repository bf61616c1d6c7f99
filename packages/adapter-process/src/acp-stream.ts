import { Readable, Writable } from 'node:stream'
import { CLIENT_METHODS, ndJsonStream, type AnyMessage, type JsonRpcId, type Stream } from '@agentclientprotocol/sdk'

/** One message of an agent, and so the most of it that is held at once. A turn's answer comes in many. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024

/**
 * The SDK's stream over a child's pipes, without what the SDK would write to the console: updates of a kind it does not know,
 * and answers to what was never asked or is answered already. Updates go to `onUpdate` in the order of the pipe, so all
 * those of a turn have been seen when the turn's own answer is.
 */
export function agentStream(stdin: Writable, stdout: Readable, onUpdate: (params: unknown) => void): Stream {
  const { readable, writable } = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout) as ReadableStream<Uint8Array>, {
    maxMessageBytes: MAX_MESSAGE_BYTES,
  })
  const asked = new Set<JsonRpcId>()
  const writer = writable.getWriter()
  const outgoing = new WritableStream<AnyMessage>({
    write: (message) => {
      if ('method' in message && 'id' in message) asked.add(message.id)
      return writer.write(message)
    },
  })
  const incoming = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => {
      if ('method' in message && message.method === CLIENT_METHODS.session_update) onUpdate(message.params)
      else if ('method' in message || ('id' in message && asked.delete(message.id))) controller.enqueue(message)
    },
  })
  return { writable: outgoing, readable: readable.pipeThrough(incoming) }
}
