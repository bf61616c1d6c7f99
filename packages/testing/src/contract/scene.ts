import type { Agent, Instant, Message, Webhook } from '@org/agent-messaging-core'
import type {
  WebhookEvent,
  ClaimedDelivery,
  Outgoing,
  Cancelled,
  ClaimedMessage,
  HeldRun,
  MessageRef,
  NewMessage,
  RecordedRun,
} from '@org/agent-messaging-core/storage'
import { anAgent, anEvent, aProject, aWebhook, BUILT_AT, newMessage } from '../builders.js'
import { fakeIds } from '../fakes/fake-ids.js'
import type { UnwrappedStorage } from './unwrapped.js'

export const NOW: Instant = BUILT_AT
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const LEASE_MS = 30 * SECOND
export const OTHER_PROJECT_ID = '00000000-0000-7fff-9000-000000000000'

export const UNKNOWN_ID = '00000000-0000-7ffd-8000-000000000000'

/** Of `claimDue`: more than any test has. */
export const CLAIM_ALL = {
  limit: 100,
  perWebhook: 100,
  perProject: 100,
  retries: 100,
  rooms: new Map<string, number>(),
  except: new Set<string>(),
}

/** The data that the holder of a claim shows to write its result. */
export const heldBy = ({ message, lease }: ClaimedMessage): HeldRun => ({
  messageId: message.id,
  token: lease.token,
})

export const refTo = ({
  projectId,
  agentId,
  id: messageId,
}: Pick<Message, 'id' | 'projectId' | 'agentId'>): MessageRef => ({
  ...{ projectId, agentId, messageId },
})

/** The steps that most tests take on their way, each of them one write. */
export type Scene = {
  agent(agent?: Partial<Agent>): Promise<Agent>
  webhook(webhook?: Partial<Webhook>): Promise<Webhook>
  /** Accepts a message, which must work. */
  send(agent: Agent, message?: Partial<NewMessage>): Promise<Message>
  /** Claims what is due of this agent, for `LEASE_MS`. */
  claim(agent: Agent, now?: Instant, free?: number): Promise<ClaimedMessage[]>
  /** Accepts a message and claims it, both now. */
  run(agent: Agent, message?: Partial<NewMessage>): Promise<ClaimedMessage>
  /** The message as it is kept now. */
  reread(message: Pick<Message, 'id' | 'projectId' | 'agentId'>): Promise<Message | undefined>
  answer(claimed: ClaimedMessage, now?: Instant, outgoing?: Outgoing): Promise<RecordedRun>
  /** Cancels the message, now. */
  cancel(message: Message, outgoing?: Outgoing): Promise<Cancelled | undefined>
  /** An event to commit with a fact. */
  outgoing(event: WebhookEvent, claim?: Outgoing['claim']): Outgoing
  /** Commits an event about this agent; answers the deliveries that were born claimed. */
  publish(
    agent: Agent,
    event?: Partial<WebhookEvent>,
    claim?: Outgoing['claim'],
  ): Promise<readonly ClaimedDelivery[]>
}

/** With two projects to begin with. */
export async function createScene({
  messages,
  webhooks,
  agents,
  credentials,
}: UnwrappedStorage): Promise<Scene> {
  const ids = fakeIds()
  await credentials.createProject(aProject())
  await credentials.createProject(aProject({ id: OTHER_PROJECT_ID }))

  const outgoing = (event: WebhookEvent, claim?: Outgoing['claim']): Outgoing => ({
    events: [event],
    nextDeliveryId: ids.next,
    ...(claim && { claim }),
  })

  async function send(agent: Agent, message?: Partial<NewMessage>): Promise<Message> {
    const accepted = await messages.accept(newMessage(agent, message))
    if ('message' in accepted) return accepted.message
    throw new Error(`the message was not accepted and queued: ${accepted.kind}`)
  }

  return {
    agent: async (overrides) => {
      const agent = anAgent(overrides)
      await agents.create(agent, 1_000)
      return agent
    },
    webhook: async (overrides) => {
      const webhook = aWebhook(overrides)
      await webhooks.create(webhook, 1_000)
      return webhook
    },
    send,
    claim: (agent, now = NOW, free = 100) =>
      messages.claimRunnable({ lanes: [{ agentId: agent.id, free }], now, until: now + LEASE_MS }),
    run: async (agent, overrides) => {
      const accepted = await messages.accept(
        newMessage(agent, { claimUntil: NOW + LEASE_MS, ...overrides }),
      )
      if (accepted.kind === 'claimed') return accepted.claimed
      throw new Error(`the message was not born running: ${accepted.kind}`)
    },
    reread: (message) => messages.get(refTo(message)),
    answer: (claimed, now = NOW, published) => {
      const state = {
        kind: 'responded',
        response: `answer to ${claimed.message.id}`,
        respondedAt: now,
        responseTimeMs: 1,
      } as const
      return messages.recordRun({
        ...heldBy(claimed),
        state,
        now,
        ...(published && { outgoing: published }),
      })
    },
    cancel: (message, published) => {
      const event = anEvent({ id: message.agentId, projectId: message.projectId })
      return messages.cancel({
        ...refTo(message),
        state: { kind: 'cancelled', cancelledAt: NOW },
        outgoing: published ?? outgoing(event),
      })
    },
    outgoing,
    publish: async (agent, event, claim) => {
      const fact = anEvent(agent, event)
      const published = outgoing(fact, claim)
      const now = fact.createdAt
      // From running to running: the smallest fact that an event can come with.
      const change = {
        agentId: agent.id,
        from: 'running',
        to: { kind: 'running', startedAt: now },
        outgoing: published,
      } as const
      const { deliveries } = await agents.changeState(change)
      return deliveries
    },
  }
}
