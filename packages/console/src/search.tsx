import { Card } from './parts/parts.js'
import type { FoundMessage, MessagingService, Page, Webhook } from '@org/agent-messaging-core'
import { idEndIn, isStorableText, isUuid } from '@org/agent-messaging-core/runtime'
import { orUndefined } from '@org/agent-messaging-core/host'
import type { PageOf } from '@org/agent-messaging-core/storage'
import type { Child } from 'hono/jsx'
import { agentNames, type AgentNames, withKnownName } from './agents.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from './context.js'
import { SessionLink, sessionPath } from './messages/conversation.js'
import { shownTo, can, projectIn } from './parts/input.js'
import { show } from './parts/layout.js'
import {
  messageColumns,
  type MessageFilter,
  messagePath,
  messagesPath,
  searchOf,
} from './messages/message-table.js'
import { DeliveryLink } from './deliveries/delivery-table.js'
import { Empty, lookedAt, TableSection } from './parts/table.js'
import { WebhookName } from './parts/wording.js'

const deliveryPath = (id: string) => `${BASE}/deliveries/${id}`
const MAX_MESSAGES = 25
const MAX_WEBHOOKS = 100
const MAX_AGENTS = 100
/** Pages of 100 deliveries that a search for the end of an id reads. */
const MAX_PAGES = 10
const NO_MESSAGES: Page<FoundMessage> = { data: [], nextCursor: null }

/** Messages that match in one way, with the list that has all of them. */
type Group = {
  readonly title: string
  readonly page: Page<FoundMessage>
  readonly all: string
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
  /** The ids of deliveries. */
  readonly deliveries: readonly string[]
  readonly groups: readonly Group[]
  /** The messages of the sessions, if a page has not all of them. The sessions have them too. */
  readonly ofSessions?: Group | undefined
}

export const searchRoutes = (d: ConsoleDeps) =>
  newRoutes().get('/search', async (c) => {
    const text = (c.req.query('q') ?? '').trim()
    if (text === '') return resultsPage(c, text)
    if (!isStorableText(text)) return resultsPage(c, text, NOTHING)
    const found = await find(c, d.service, text)
    const path = onlyPath(found)
    return path === undefined
      ? resultsPage(c, text, found, await agentNames(c, d.service))
      : c.redirect(path)
  })

const NOTHING: Results = { sessions: [], webhooks: [], deliveries: [], groups: [] }

/** Finds an id first, then names. If nothing has that name, finds parts of names, ids and texts. */
async function find(c: PageRequest, service: MessagingService, text: string) {
  if (isUuid(text)) {
    const path = await pathOfId(c, service, text.toLowerCase())
    if (path !== undefined) return { ...NOTHING, path }
  }
  const named = await findNamed(c, service, text)
  if (named.sessions.length + named.webhooks.length + named.groups.length > 0) return named
  const part = await groupOf(c, service, `Messages with “${text}”`, { text })
  const { data, nextCursor } = part.page
  const inNames = data.map(({ message }) => message).filter(({ sessionId }) => has(sessionId, text))
  return {
    ...NOTHING,
    sessions: await sessionsOf(c, service, inNames),
    deliveries: await deliveriesOf(c, service, idEndIn(text)),
    groups: data.length > 0 || nextCursor !== null ? [part] : [],
  }
}

/** Finds the end of an id among the newest deliveries. */
async function deliveriesOf(
  c: PageRequest,
  { deliveries }: MessagingService,
  idEnd: string | undefined,
) {
  const found: string[] = []
  if (idEnd === undefined || !can(c, 'webhooks.list')) return found
  let page: PageOf = { limit: 100 }
  for (let pages = 0; pages < MAX_PAGES && !c.req.raw.signal.aborted; pages++) {
    const { data, nextCursor } = await deliveries.list({ ...shownTo(c), ...page })
    found.push(...data.map(({ id }) => id).filter((id) => id.endsWith(idEnd)))
    if (nextCursor === null) break
    page = { limit: 100, cursor: nextCursor }
  }
  return found
}

/** Returns the page of the message, delivery or webhook with this id. */
async function pathOfId(
  c: PageRequest,
  { messages, deliveries, webhooks }: MessagingService,
  id: string,
) {
  const projectId = projectIn(c)
  if (can(c, 'messages.search')) {
    const { data } = await messages.search({ projectId, messageId: id, limit: 1 })
    if (data.length > 0) return messagePath(id)
  }
  if (!can(c, 'webhooks.list')) return undefined
  const delivery = await orUndefined(deliveries.get({ ...shownTo(c), deliveryId: id }))
  if (delivery) return deliveryPath(id)
  const webhook = await orUndefined(webhooks.get({ projectId, webhookId: id }))
  return webhook && `${BASE}/webhooks/${id}`
}

async function findNamed(c: PageRequest, service: MessagingService, text: string) {
  const projectId = projectIn(c)
  const messages = (which: string, filter: MessageFilter) =>
    groupOf(c, service, `Messages ${which} “${text}”`, filter)
  const inSessions = await messages('of the session', { session: text })
  const ofUser = await messages('of the end user', { user: text })
  const correlated = await messages('with the correlation ID', { correlation: text })
  const webhooks = can(c, 'webhooks.list')
    ? (await service.webhooks.list({ projectId, limit: MAX_WEBHOOKS })).data
    : []
  const { data, nextCursor } = inSessions.page
  const hasMore = nextCursor !== null
  const agents = hasMore ? await agentsOfSession(service, projectId, text) : []
  const named = agents.map((agentId) => ({ agentId, sessionId: text }))
  const idEnd = idEndIn(text)
  return {
    ...NOTHING,
    sessions: await sessionsOf(c, service, [...data.map(({ message }) => message), ...named]),
    webhooks: webhooks.filter(
      ({ id, url, description = '' }) =>
        [url, description].some((words) => has(words, text)) ||
        (idEnd !== undefined && id.endsWith(idEnd)),
    ),
    groups: [ofUser, correlated].filter(({ page }) => page.data.length > 0),
    ofSessions: hasMore ? inSessions : undefined,
  }
}

async function groupOf(
  c: PageRequest,
  { messages }: MessagingService,
  title: string,
  filter: MessageFilter,
) {
  const search = { ...searchOf(projectIn(c), filter), limit: MAX_MESSAGES }
  const page = can(c, 'messages.search')
    ? await messages.search({ ...search, abort: c.req.raw.signal })
    : NO_MESSAGES
  return { title, page, all: messagesPath(filter) }
}

/** Returns each session once, with the name of its agent. */
async function sessionsOf(
  c: PageRequest,
  { agents }: MessagingService,
  found: readonly Pick<Session, 'agentId' | 'sessionId'>[],
) {
  const each = new Map(found.map((one) => [sessionPath(one.agentId, one.sessionId), one]))
  const sessions = [...each.values()].map(async ({ agentId, sessionId }) => {
    const agent = await agents.get({ projectId: projectIn(c), agent: agentId })
    return { agentId, sessionId, agentName: withKnownName(c, agent, agentId).name }
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

const has = (words: string, text: string) => words.toLowerCase().includes(text.toLowerCase())

/** Returns the page of the only result. */
function onlyPath({ path, sessions, webhooks, deliveries, groups }: Results) {
  if (path !== undefined) return path
  const paths = new Set([
    ...sessions.map(({ agentId, sessionId }) => sessionPath(agentId, sessionId)),
    ...webhooks.map(({ id }) => `${BASE}/webhooks/${id}`),
    ...deliveries.map(deliveryPath),
    ...groups.flatMap(({ page }) => page.data.map(({ message }) => messagePath(message.id))),
  ])
  const isAll = groups.every(({ page }) => page.nextCursor === null)
  return isAll && paths.size === 1 ? [...paths][0] : undefined
}

function resultsPage(
  c: PageRequest,
  text: string,
  results: Results = NOTHING,
  names: AgentNames = new Map(),
) {
  const { sessions, webhooks, deliveries, ofSessions } = results
  const groups = [...results.groups, ...(ofSessions ? [ofSessions] : [])]
  const count = sessions.length + webhooks.length + deliveries.length + groups.length
  return show(
    c,
    { title: text === '' ? 'Search' : `Search: ${text}` },
    <>
      <h1 class="long">{text === '' ? 'Search' : `Search for “${text}”`}</h1>
      {count === 0 && <NothingFound text={text} />}
      <Found
        title="Sessions"
        items={sessions.map(({ agentId, sessionId, agentName }) => (
          <>
            <SessionLink agent={agentId} sessionId={sessionId} />{' '}
            <span class="muted small">of the agent {agentName}</span>
          </>
        ))}
      />
      <Found
        title="Webhooks"
        items={webhooks.map((webhook) => (
          <WebhookName webhook={webhook} />
        ))}
      />
      <Found
        title="Deliveries"
        items={deliveries.map((id) => (
          <DeliveryLink id={id} />
        ))}
      />
      {groups.map((group, at) => (
        <GroupOfMessages group={group} id={`group-${at}`} names={names} />
      ))}
    </>,
  )
}

type FoundProps = { readonly title: string; readonly items: readonly Child[] }

const Found = ({ title, items }: FoundProps) =>
  items.length > 0 && (
    <Card id={title.toLowerCase()} title={title}>
      <ul class="plain">
        {items.map((item) => (
          <li class="long">{item}</li>
        ))}
      </ul>
    </Card>
  )

const NothingFound = ({ text }: { readonly text: string }) => (
  <Empty title={text === '' ? 'Search this project' : 'Nothing found'}>
    <p>
      Search for the ID of a message, a delivery or a webhook, or for its end, such as …365e0e54.
      You can also search for a session or a part of its name, an end user, a correlation ID, a part
      of a webhook’s URL or description, or a part of a message or its answer. Press <kbd>/</kbd> to
      search from any page.
    </p>
  </Empty>
)

type GroupProps = { readonly group: Group; readonly id: string; readonly names: AgentNames }

function GroupOfMessages({ group: { title, page, all }, id, names }: GroupProps) {
  const looked = lookedAt(page, MAX_MESSAGES)
  return (
    <>
      <TableSection
        id={id}
        title={
          <>
            {title} {page.nextCursor !== null && page.data.length > 0 && <a href={all}>Show all</a>}
          </>
        }
        rows={page.data}
        columns={messageColumns(names)}
        empty={<div class="inset">{looked}</div>}
      />
      {page.data.length > 0 && looked}
      {looked && (
        <p>
          <a href={`${all}&cursor=${page.nextCursor}`}>Look further</a>
        </p>
      )}
    </>
  )
}
