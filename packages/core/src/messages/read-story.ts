import { ok, safeTry } from 'neverthrow'
import { isFinal } from '../domain/messages/message.js'
import { storyOf, type Story, type StoryFacts } from '../domain/messages/story.js'
import type { Agent } from '../domain/agents/agent.js'
import { fail } from '../domain/values/fail.js'
import { chain, existing } from '../pacing/chain.js'
import { receiversOf } from '../webhooks/read-receivers.js'
import type { Needs } from './context.js'

export type ReadStoryInput = {
  readonly projectId: string
  /** The id of the message. */
  readonly messageId: string
  /** False leaves out the receivers. Default: true. */
  readonly withReceivers?: boolean | undefined
  /** True leaves out the errors of agents, the answers of receivers, and hooks. Default: false. */
  readonly isForCustomer?: boolean | undefined
}

/** A message with its story, and what the story is made of. */
export type MessageStory = Pick<StoryFacts, 'message' | 'runs' | 'receivers'> & {
  readonly story: Story
  readonly agent: Agent
}

/** Messages before a queued one that are looked at. */
const MOST_BEFORE = 20

type Needed = Needs<'clock' | 'policy' | 'storage'>

/** Finds the message without its agent, which a person with an id does not know. */
export const readStory =
  (d: Needed) =>
  ({ projectId, messageId, withReceivers = true, isForCustomer }: ReadStoryInput) =>
    safeTry(async function* () {
      const { messages, agents } = d.storage
      const found = yield* chain(messages.search({ projectId, messageId }, { limit: 1 }))
      const [message] = found.data
      if (!message) return fail('message_not_found')
      const agent = yield* existing(agents.get(projectId, message.agentId), 'message_not_found')
      const ref = { projectId, agentId: agent.id, messageId }
      const runs = yield* existing(messages.runs(ref), 'message_not_found')
      const before = { ...ref, sessionId: message.sessionId }
      const queue =
        message.state.kind === 'queued'
          ? yield* chain(messages.list(before, { limit: MOST_BEFORE, cursor: messageId }))
          : undefined
      const head = queue?.data.findLast(({ state }) => !isFinal(state))
      const receivers = withReceivers
        ? yield* receiversOf(d, { ...ref, withoutHooks: isForCustomer })
        : undefined
      const shown = { message, agent, runs, receivers }
      const story = storyOf({ ...shown, head, isForCustomer, now: d.clock.now() })
      return ok({ ...shown, story } satisfies MessageStory)
    })
