import type { FoundMessage, Instant, Page } from '@org/agent-messaging-core'
import { MAX_SEARCHED_TEXT } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { ConsoleDeps, Env } from '../context.js'
import { Periods, TimeRange } from '../parts/filter-fields.js'
import { pageOf } from '../parts/input.js'
import { show, showError } from '../parts/layout.js'
import { messageFilterIn, searchOf, STATES, type MessageFilter } from './message-filter.js'
import { messagePage } from './message-page.js'
import { MessageTable } from './message-table.js'
import { BASE } from '../options.js'
import { Empty, Next, pathOf, refreshed } from '../parts/parts.js'
import { need } from '../access/sign-in.js'
import { zoneOf } from '../parts/zone.js'

export const messageRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return new Hono<Env>()
    .get(`${BASE}/messages`, maySend, (c) => listPage(c, d))
    .get(`${BASE}/messages/:id`, maySend, (c) => messagePage(c, d))
}

async function listPage(c: Context<Env>, { service }: ConsoleDeps) {
  const filter = messageFilterIn(c.req.query(), zoneOf(c))
  const search = searchOf(c.get('apiKey').projectId, filter)
  const found = await service.messages.search({
    ...search,
    page: pageOf(c),
    abort: c.req.raw.signal,
  })
  if (found.isErr()) return showError(c, found.error)
  return show(
    c,
    { title: 'Messages', section: 'Messages' },
    <>
      <h1>{filter.state === 'failed' ? 'Failed messages' : 'Messages'}</h1>
      <Filters filter={filter} />
      <Periods c={c} now={service.now()} />
      {/* A text is searched in many rows, so its result is not refreshed. */}
      <div {...(filter.text === undefined ? refreshed('live', 5_000, pathOf(c)) : {})}>
        <MessageList
          page={found.value}
          now={service.now()}
          isFiltered={Object.values(filter).some((value) => value !== undefined)}
        />
        <Next c={c} cursor={found.value.nextCursor} />
      </div>
    </>,
  )
}

function Filters({ filter }: { readonly filter: MessageFilter }) {
  const field = (
    name: 'session' | 'user' | 'correlation' | 'text',
    label: string,
    maxlength?: number,
  ) => (
    <div>
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        value={filter[name] ?? ''}
        maxlength={maxlength}
        autocomplete="off"
      />
    </div>
  )
  return (
    <form method="get" action={`${BASE}/messages`} class="filters card">
      <div>
        <label for="state">State</label>
        <select id="state" name="state">
          <option value="">any</option>
          {STATES.map((state) => (
            <option value={state} selected={filter.state === state}>
              {state}
            </option>
          ))}
        </select>
      </div>
      {field('session', 'Session')}
      {field('user', 'End user')}
      {field('correlation', 'Correlation ID')}
      {field('text', 'Text', MAX_SEARCHED_TEXT)}
      <TimeRange range={filter} />
      <p class="buttons">
        <button class="primary">Filter</button>
        <a href={`${BASE}/messages`}>Clear</a>
      </p>
    </form>
  )
}

type ListProps = {
  readonly page: Page<FoundMessage>
  readonly now: Instant
  readonly isFiltered: boolean
}

function MessageList({ page: { data, nextCursor }, now, isFiltered }: ListProps) {
  if (data.length > 0)
    return (
      <div class="scroll card flush" role="region" aria-label="Messages" tabindex={0}>
        <MessageTable found={data} now={now} />
      </div>
    )
  if (nextCursor !== null)
    return <p class="muted">No matches among the newest messages. Continue with older ones.</p>
  return isFiltered ? (
    <Empty title="No message matches">
      <p>
        Change the filter, or <a href={`${BASE}/messages`}>show all messages</a>.
      </p>
    </Empty>
  ) : (
    <Empty title="No messages yet">
      <p>
        <a href={`${BASE}/sessions`}>Send a message</a> to an agent.
      </p>
    </Empty>
  )
}
