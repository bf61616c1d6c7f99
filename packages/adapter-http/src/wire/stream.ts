import { z } from 'zod'
import { count } from './body.js'
import { messageStateSchema } from './message.js'
import { partEventSchema } from './part.js'
import { variants } from './variants.js'

export const streamStateSchema = z
  .object({ state: messageStateSchema, attempt: count })
  .meta({ id: 'StreamState' })
export const streamChunkSchema = z
  .object({
    attempt: count.describe('Chunks of earlier attempts are obsolete.'),
    offset: count.describe('The UTF-16 units of text before this piece in this attempt.'),
    text: z.string(),
  })
  .meta({ id: 'StreamChunk' })
export const streamPartSchema = z
  .object({
    attempt: count.describe('Parts of earlier attempts are obsolete.'),
    offset: count.describe('The UTF-16 units of text before this part in this attempt.'),
    index: count.describe('The part events before this one in this attempt.'),
    part: partEventSchema,
  })
  .meta({ id: 'StreamPart' })

const id = z.string().describe('Send it as `Last-Event-ID` to continue after it.')

/** A text that is the JSON of a named schema. */
const jsonOf = (name: 'StreamState' | 'StreamChunk' | 'StreamPart' | 'Message') =>
  z.string().meta({
    contentMediaType: 'application/json',
    contentSchema: { $ref: `#/components/schemas/${name}` },
  })

/** One server-sent event. */
export const streamEventSchema = variants('event', [
  z
    .object({ event: z.literal('state'), id, data: jsonOf('StreamState') })
    .meta({ id: 'StreamStateEvent', description: 'First, and after each change of the state.' }),
  z
    .object({ event: z.literal('chunk'), id, data: jsonOf('StreamChunk') })
    .meta({ id: 'StreamChunkEvent', description: 'A piece of the answer.' }),
  z
    .object({ event: z.literal('part'), id, data: jsonOf('StreamPart') })
    .meta({ id: 'StreamPartEvent', description: 'A part of the answer that is not text.' }),
  z
    .object({ event: z.literal('message'), id, data: jsonOf('Message') })
    .meta({ id: 'StreamMessageEvent', description: 'The final message: the last event.' }),
]).meta({
  id: 'StreamEvent',
  description:
    'The fields of one server-sent event. `data` is one line of JSON. Lines that start with a ' +
    'colon are heartbeats.',
})
