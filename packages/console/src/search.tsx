import type { FoundMessage, MessagingService, Permission, Webhook } from '@org/agent-messaging-core'
import { isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { orUndefined } from '@org/agent-messaging-core/host'
import { agentNames, type AgentNames } from './agents.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from './context.js'
import { SessionLink, sessionPath } from './messages/conversation.js'
import { show, showFound } from './parts/layout.js'
import {
  messageColumns,
  type MessageFilter,
  messagePath,
  messagesPath,
  searchOf,
} from './messages/message-table.js'
import { BASE } from './options.js'
import { Empty, TableSection } from './parts/table.js'
import { WebhookName } from './parts/wording.js'

const MAX_MESSAGES = 25
const MAX_WEBHOOKS = 100
const MAX_AGENTS = 100
const NO_MESSAGES = { data: [], nextCursor: null }

/** Messages that match in one way, with the list that has all of them. */
type Group = {
  readonly title: string
  readonly found: readonly FoundMessage[]
  readonly all: string
  /** True if `all` has older messages too. */
  readonly hasMore: boolean
}
type Session = {
  readonly agentId: string
  readonly sessionId: string
  /** The id, if the API key cannot list agents. */
  readonly agentName: string
}
type Results = {
  /** The page of the message, delivery or webhook that has this id. */
  readonly path?: string
  readonly sessions: readonly Session[]
  readonly webhooks: readonly Webhook[]
  readonly groups: readonly Group[]
  /** The messages of the sessions, if a page has not all of them. The sessions have them too. */
  readonly ofSessions?: Group | undefined
}

export const searchRoutes = (d: ConsoleDeps) =>
  newRoutes().get('/search', (c) => {
    const text = (c.req.query('q') ?? '').trim()
    if (text === '') return resultsPage(c, text)
    if (!isStorableText(text)) return resultsPage(c, text, NOTHING)
    const key = { ...c.get('apiKey'), abort: c.req.raw.signal }
    return showFound(c, find(d.service, key, text), async (found) => {
      const path = onlyPath(found)
      return path === undefined
        ? resultsPage(c, text, found, await agentNames(c, d.service))
        : c.redirect(path)
    })
  })

const NOTHING: Results = { sessions: [], webhooks: [], groups: [] }

type Key = {
  readonly projectId: string
  readonly permissions: readonly Permission[]
  readonly abort: AbortSignal
}

/** Finds an id first, then names, and a part of a text only if nothing has that name. */
async function find(service: MessagingService, key: Key, text: string) {
  if (isUuid(text)) {
    const path = await pathOfId(service, key, text.toLowerCase())
    if (path !== undefined) return { ...NOTHING, path } satisfies Results
  }
  const named = await findNamed(service, key, text)
  if (named.sessions.length + named.webhooks.length + named.groups.length > 0) return named
  const part = await groupOf(service, key, `Messages with “${text}”`, { text })
  return {
    ...NOTHING,
    groups: part.found.length > 0 || part.hasMore ? [part] : [],
  } satisfies Results
}

/** Returns the page of the message, delivery or webhook with this id. */
async function pathOfId(
  { messages, deliveries, webhooks }: MessagingService,
  key: Key,
  id: string,
) {
  const { projectId, permissions } = key
  if (permissions.includes('project:message')) {
    const { data } = await messages.search({ projectId, messageId: id, limit: 1 })
    if (data.length > 0) return messagePath(id)
  }
  if (!permissions.includes('project:webhooks')) return undefined
  const delivery = await orUndefined(deliveries.get({ projectId, deliveryId: id }))
  if (delivery) return `${BASE}/deliveries/${id}`
  const webhook = await orUndefined(webhooks.get({ projectId, webhookId: id }))
  return webhook && `${BASE}/webhooks/${id}`
}

async function findNamed(service: MessagingService, key: Key, text: string) {
  const messages = (which: string, filter: MessageFilter) =>
    groupOf(service, key, `Messages ${which} “${text}”`, filter)
  const inSessions = await messages('of the session', { session: text })
  const ofUser = await messages('of the end user', { user: text })
  const correlated = await messages('with the correlation ID', { correlation: text })
  const webhooks = key.permissions.includes('project:webhooks')
    ? (await service.webhooks.list({ projectId: key.projectId, limit: MAX_WEBHOOKS })).data
    : []
  return {
    sessions: await sessionsOf(service, key, inSessions),
    webhooks: webhooks.filter((webhook) => hasWords(webhook, text)),
    groups: [ofUser, correlated].filter(({ found }) => found.length > 0),
    ofSessions: inSessions.hasMore ? inSessions : undefined,
  } satisfies Results
}

async function groupOf(
  { messages }: MessagingService,
  { projectId, permissions, abort }: Key,
  title: string,
  filter: MessageFilter,
): Promise<Group> {
  const search = { ...searchOf(projectId, filter), limit: MAX_MESSAGES, abort }
  const { data, nextCursor } = permissions.includes('project:message')
    ? await messages.search(search)
    : NO_MESSAGES
  return { title, found: data, all: messagesPath(filter), hasMore: nextCursor !== null }
}

/** Returns the sessions of the messages, one of each agent. */
async function sessionsOf(service: MessagingService, key: Key, { found, hasMore }: Group) {
  const { projectId, permissions } = key
  const isListed = permissions.includes('project:agents')
  const sessionId = found[0]?.message.sessionId ?? ''
  const agentIds = new Set(found.map(({ message }) => message.agentId))
  if (hasMore)
    for (const id of await agentsOfSession(service, projectId, sessionId)) agentIds.add(id)
  const sessions = [...agentIds].map(async (agentId): Promise<Session> => {
    const { name } = await service.agents.get({ projectId, agent: agentId })
    return { agentId, sessionId, agentName: isListed ? name : agentId }
  })
  return Promise.all(sessions)
}

/** Returns the agents that have a session of this name. Looks at the newest 100 agents. */
async function agentsOfSession(
  { agents, messages }: MessagingService,
  projectId: string,
  sessionId: string,
) {
  const { data } = await agents.list({ projectId, limit: MAX_AGENTS })
  const newest = await Promise.all(
    data.map(({ id }) => messages.list({ projectId, agent: id, sessionId, limit: 1 })),
  )
  return newest.flatMap((page) => page.data.map(({ agentId }) => agentId))
}

const hasWords = ({ url, description = '' }: Webhook, text: string) =>
  [url, description].some((words) => words.toLowerCase().includes(text.toLowerCase()))

/** Returns the page of the only result. */
function onlyPath({ path, sessions, webhooks, groups }: Results) {
  if (path !== undefined) return path
  const paths = new Set([
    ...sessions.map(({ agentId, sessionId }) => sessionPath(agentId, sessionId)),
    ...webhooks.map(({ id }) => `${BASE}/webhooks/${id}`),
    ...groups.flatMap(({ found }) => found.map(({ message }) => messagePath(message.id))),
  ])
  const isAll = groups.every(({ hasMore }) => !hasMore)
  return isAll && paths.size === 1 ? [...paths][0] : undefined
}

function resultsPage(
  c: PageRequest,
  text: string,
  results: Results = NOTHING,
  names: AgentNames = new Map(),
) {
  const { sessions, webhooks, ofSessions } = results
  const groups = [...results.groups, ...(ofSessions ? [ofSessions] : [])]
  const count = sessions.length + webhooks.length + groups.length
  return show(
    c,
    { title: text === '' ? 'Search' : `Search: ${text}` },
    <>
      <h1 class="long">{text === '' ? 'Search' : `Search for “${text}”`}</h1>
      {count === 0 && <NothingFound text={text} />}
      {sessions.length > 0 && (
        <section class="card" aria-labelledby="sessions">
          <h2 id="sessions">Sessions</h2>
          <ul class="plain">
            {sessions.map(({ agentId, sessionId, agentName }) => (
              <li class="long">
                <SessionLink agent={agentId} sessionId={sessionId} />{' '}
                <span class="muted small">of the agent {agentName}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {webhooks.length > 0 && (
        <section class="card" aria-labelledby="webhooks">
          <h2 id="webhooks">Webhooks</h2>
          <ul class="plain">
            {webhooks.map((webhook) => (
              <li>
                <WebhookName webhook={webhook} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {groups.map((group, at) => (
        <GroupOfMessages group={group} id={`group-${at}`} names={names} />
      ))}
    </>,
  )
}

const NothingFound = ({ text }: { readonly text: string }) => (
  <Empty title={text === '' ? 'Search this project' : 'Nothing found'}>
    <p>
      Search for the ID of a message, a delivery or a webhook. You can also search for a session, an
      end user, a correlation ID, a part of a webhook’s URL or description, or a part of a message
      or its answer. Press <kbd>/</kbd> to search from any page.
    </p>
  </Empty>
)

type GroupProps = { readonly group: Group; readonly id: string; readonly names: AgentNames }

const GroupOfMessages = ({ group: { title, found, all, hasMore }, id, names }: GroupProps) => (
  <TableSection
    id={id}
    title={
      <>
        {title} {hasMore && <a href={all}>Show all</a>}
      </>
    }
    rows={found}
    columns={messageColumns(names)}
    empty={
      <p class="inset muted">
        No match among the newest messages. <a href={all}>Look further</a>.
      </p>
    }
  />
)
