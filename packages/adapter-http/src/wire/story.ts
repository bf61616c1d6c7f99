import { STORY_CAUSES } from '@org/agent-messaging-core/host'
import { z } from 'zod'
import { uuid, named } from './body.js'

const storyPartSchema = named('StoryPart', {
  kind: z
    .enum(['text', 'words', 'time', 'message', 'webhook', 'delivery'])
    .describe('`words` are quoted: an agent or a receiver said them. `time` is in ISO 8601.'),
  text: z.string(),
  id: uuid.optional().describe('The id of the message, the webhook or the delivery.'),
})

export const storySchema = named(
  'Story',
  {
    text: z.string().describe('All sentences.'),
    sentences: z.array(
      named('StorySentence', {
        cause: z.enum(STORY_CAUSES).describe('The same for the same case, for programs.'),
        parts: z.array(storyPartSchema),
      }),
    ),
  },
  { description: 'Why a message, an event or a delivery is where it is.' },
)
