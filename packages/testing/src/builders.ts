import type {
  AuditEntry,
  Agent,
  ApiKey,
  Instant,
  Message,
  Webhook,
  Project,
} from '@org/agent-messaging-core'
import type { RunRequest } from '@org/agent-messaging-core/runtime'
import { agentDefaults } from '@org/agent-messaging-core/host'
import {
  freezeEvent,
  toIso,
  HOOK_EVENTS,
  untried,
  type PortalSession,
  type WebhookEvent,
  type TaskHook,
  type Sealed,
  type RecoveryTask,
  type NewMessage,
} from '@org/agent-messaging-core/storage'
import { fakeIds } from './fakes/fake-ids.js'

/** Where everything built belongs unless it is told otherwise. */
export const PROJECT_ID = '00000000-0000-7fff-8000-000000000000'
/** When everything was built: 1 January 2030. The fake clock starts there too. */
export const BUILT_AT: Instant = Date.UTC(2030, 0, 1)

/** A separate series: no built row has an id that a test's `fakeIds()` makes. */
const ids = fakeIds(0xb1d)

export const aProject = (project: Partial<Project> = {}): Project => ({
  id: PROJECT_ID,
  name: 'a project',
  createdAt: BUILT_AT,
  ...project,
})

/** A running agent of kind `fake`. Each has a different name. */
export function anAgent(agent: Partial<Agent> = {}): Agent {
  const id = ids.next()
  return {
    ...{ id, projectId: PROJECT_ID, name: `agent-${id.slice(0, 13)}`, ...agentDefaults },
    defaultExecutionPrincipal: { type: 'service' },
    runtime: { kind: 'fake', options: {} },
    desiredState: 'running',
    state: { kind: 'running', startedAt: BUILT_AT },
    createdAt: BUILT_AT,
    updatedAt: BUILT_AT,
    ...agent,
  }
}

type AgentRef = Pick<Agent, 'id' | 'projectId'>

/** The message that a send hands to the store, for this agent. */
export const newMessage = (agent: AgentRef, message: Partial<NewMessage> = {}): NewMessage => ({
  ...{
    id: ids.next(),
    projectId: agent.projectId,
    agentId: agent.id,
    sessionId: 'session',
    message: 'Hello?',
  },
  executionPrincipal: { type: 'service' },
  now: BUILT_AT,
  ...message,
})

/** A queued message of this agent, as the store gives it. */
export const aMessage = (agent: AgentRef, message: Partial<Message> = {}): Message => ({
  ...{
    id: ids.next(),
    projectId: agent.projectId,
    agentId: agent.id,
    sessionId: 'session',
    message: 'Hello?',
  },
  executionPrincipal: { type: 'service' },
  attempt: 0,
  state: { kind: 'queued', notBefore: BUILT_AT },
  createdAt: BUILT_AT,
  ...message,
})

/** The request that a runtime gets for a first run, in a session without a past. */
export const aRunRequest = (request: Partial<RunRequest> = {}): RunRequest => ({
  ...{ messageId: ids.next(), agentId: ids.next(), sessionId: 'session', message: 'Hello?' },
  executionPrincipal: { type: 'service' },
  attempt: 1,
  runToken: 'a run token',
  remember: async () => undefined,
  history: async () => [],
  emit: () => undefined,
  ...request,
})

/**
 * An enabled webhook that wants every event. Its secret is not sealed by anything: give one that
 * your Crypto sealed to sign with it.
 */
export const aWebhook = (webhook: Partial<Webhook> = {}): Webhook => ({
  ...{ id: ids.next(), projectId: PROJECT_ID, url: 'https://receiver.example/hook', events: ['*'] },
  secret: 'not sealed' as Sealed,
  disableOnGone: false,
  ordering: 'none',
  payload: 'full',
  isPaused: false,
  status: { kind: 'enabled' },
  health: untried,
  createdAt: BUILT_AT,
  updatedAt: BUILT_AT,
  ...webhook,
})

/** A hook of the message that wants every event that a hook can get. */
export const aHook = (
  { id: messageId, projectId }: Pick<Message, 'id' | 'projectId'>,
  { name = messageId, ...webhook }: Partial<Webhook> & { readonly name?: string } = {},
): TaskHook => ({
  ...aWebhook({ projectId, events: HOOK_EVENTS, ordering: 'session', ...webhook }),
  hook: { messageId, name },
})

/** `agent.started`, of this agent. */
export function anEvent(agent: AgentRef, event: Partial<WebhookEvent> = {}): WebhookEvent {
  const data = { agentId: agent.id, runtime: 'fake', startedAt: toIso(BUILT_AT) }
  return {
    ...freezeEvent({ event: 'agent.started', data }, ids.next(), agent.projectId, BUILT_AT),
    ...event,
  }
}

/** A key with permission to send messages. */
export const anApiKey = (key: Partial<ApiKey> = {}): ApiKey => ({
  ...{
    id: ids.next(),
    projectId: PROJECT_ID,
    name: 'a key',
    permissions: ['project:message'],
    createdAt: BUILT_AT,
  },
  ...key,
})

/** A link to the webhooks that nobody has opened. */
export const aPortalSession = (session: Partial<PortalSession> = {}): PortalSession => ({
  ...{
    id: ids.next(),
    projectId: PROJECT_ID,
    permissions: ['project:webhooks'],
    isReadOnly: false,
    createdAt: BUILT_AT,
    linkUntil: BUILT_AT + 60_000,
    until: BUILT_AT + 3_600_000,
  },
  ...session,
})

/** A change that a key made. */
export const anAuditEntry = (entry: Partial<AuditEntry> = {}): AuditEntry => ({
  id: ids.next(),
  projectId: PROJECT_ID,
  actor: { kind: 'key', id: 'a key' },
  action: 'webhook.created',
  targetId: 'a target',
  createdAt: BUILT_AT,
  ...entry,
})

/** A running recovery of exhausted deliveries, before its first page. */
export const aRecovery = (recovery: Partial<RecoveryTask> = {}): RecoveryTask => ({
  id: ids.next(),
  projectId: PROJECT_ID,
  filter: { status: 'exhausted', createdBefore: BUILT_AT + 1 },
  state: { kind: 'running' },
  matched: 0,
  redelivered: 0,
  createdAt: BUILT_AT,
  ...recovery,
})
