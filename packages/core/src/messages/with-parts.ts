import type { Message } from '../domain/messages/message.js'
import type { Platform } from '../platform.js'
import { success } from '../ports/port-result.js'
import type { Stored } from '../ports/stored.js'

/** Adds the parts to the messages that have parts. */
export async function withParts(
  { messages }: Pick<Platform['storage'], 'messages'>,
  found: readonly Message[],
): Stored<readonly Message[]> {
  const ids = found.filter(lacksParts).map(({ id }) => id)
  if (ids.length === 0) return success(found)
  const read = await messages.parts(ids)
  if (!read.ok) return read
  return success(
    found.map((message) => {
      const parts = read.value.get(message.id)
      return parts ? { ...message, parts } : message
    }),
  )
}

const lacksParts = ({ state, parts }: Message): boolean =>
  state.kind === 'responded' && state.hasParts === true && !parts
