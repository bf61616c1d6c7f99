import { z } from 'zod'
import { count, named } from './body.js'
import { messageStateSchema } from './message.js'
import { partEventSchema } from './part.js'
import { variants } from './variants.js'

export const streamStateSchema = named('StreamState', { state: messageStateSchema, attempt: count })
export const streamChunkSchema = named('StreamChunk', {
  attempt: count.describe('Chunks of earlier attempts are obsolete.'),
  offset: count.describe('The UTF-16 units of text before this piece in this attempt.'),
  text: z.string(),
})
export const streamPartSchema = named('StreamPart', {
  attempt: count.describe('Parts of earlier attempts are obsolete.'),
  offset: count.describe('The UTF-16 units of text before this part in this attempt.'),
  index: count.describe('The part events before this one in this attempt.'),
  part: partEventSchema,
})

const id = z.string().describe('Send it as `Last-Event-ID` to continue after it.')

/** A text that is the JSON of a named schema. */
const jsonOf = (name: 'StreamState' | 'StreamChunk' | 'StreamPart' | 'Message') =>
  z.string().meta({
    contentMediaType: 'application/json',
    contentSchema: { $ref: `#/components/schemas/${name}` },
  })

/** One server-sent event. */
export const streamEventSchema = variants('event', [
  named(
    'StreamStateEvent',
    { event: z.literal('state'), id, data: jsonOf('StreamState') },
    { description: 'First, and after each change of the state.' },
  ),
  named(
    'StreamChunkEvent',
    { event: z.literal('chunk'), id, data: jsonOf('StreamChunk') },
    { description: 'A piece of the answer.' },
  ),
  named(
    'StreamPartEvent',
    { event: z.literal('part'), id, data: jsonOf('StreamPart') },
    { description: 'A part of the answer that is not text.' },
  ),
  named(
    'StreamMessageEvent',
    { event: z.literal('message'), id, data: jsonOf('Message') },
    { description: 'The final message: the last event.' },
  ),
]).meta({
  id: 'StreamEvent',
  description:
    'The fields of one server-sent event. `data` is one line of JSON. Lines that start with a ' +
    'colon are heartbeats.',
})
