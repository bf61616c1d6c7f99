import { STORY_CAUSES } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { uuid } from './body.js'

const storyPartSchema = z
  .object({
    kind: z
      .enum(['text', 'words', 'time', 'message', 'webhook', 'delivery'])
      .describe('`words` are quoted: an agent or a receiver said them. `time` is in ISO 8601.'),
    text: z.string(),
    id: uuid.optional().describe('The id of the message, the webhook or the delivery.'),
  })
  .meta({ id: 'StoryPart' })

export const storySchema = z
  .object({
    text: z.string().describe('All sentences.'),
    sentences: z.array(
      z
        .object({
          cause: z.enum(STORY_CAUSES).describe('The same for the same case, for programs.'),
          parts: z.array(storyPartSchema),
        })
        .meta({ id: 'StorySentence' }),
    ),
  })
  .meta({ id: 'Story', description: 'Why a message, an event or a delivery is where it is.' })
