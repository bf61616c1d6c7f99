import { MAX_SEARCHED_TEXT } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { ConsoleDeps, Env } from '../context.js'
import { FilterForm, Periods, TIME_RANGE } from '../parts/fields.js'
import { pageOf, projectIn } from '../parts/input.js'
import { show, showFound } from '../parts/layout.js'
import { messageFilterIn, searchOf, STATES } from './message-filter.js'
import { messagePage } from './message-page.js'
import { messageColumns } from './message-table.js'
import { BASE } from '../options.js'
import { Empty, List, Live } from '../parts/table.js'
import { need } from '../access/sign-in.js'
import { zoneOf } from '../parts/zone.js'

export const messageRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return new Hono<Env>()
    .get(`${BASE}/messages`, maySend, (c) => listPage(c, d))
    .get(`${BASE}/messages/:id`, maySend, (c) => messagePage(c, d))
}

function listPage(c: Context<Env>, { service }: ConsoleDeps) {
  const filter = messageFilterIn(c.req.query(), zoneOf(c))
  const search = { ...searchOf(projectIn(c), filter), page: pageOf(c), abort: c.req.raw.signal }
  return showFound(c, service.messages.search(search), (page) => {
    const isFiltered = Object.values(filter).some((value) => value !== undefined)
    const list = (
      <List
        label="Messages"
        page={page}
        columns={messageColumns}
        empty={isFiltered ? <NoMatch /> : <NoMessages />}
      />
    )
    return show(
      c,
      { title: 'Messages', section: 'Messages' },
      <>
        <h1>{filter.state === 'failed' ? 'Failed messages' : 'Messages'}</h1>
        <FilterForm path={`${BASE}/messages`} fields={FIELDS} values={filter} />
        <Periods />
        {/* A text is searched in many rows, so its result is not refreshed. */}
        {filter.text === undefined ? <Live every={5_000}>{list}</Live> : <div>{list}</div>}
      </>,
    )
  })
}

const FIELDS = {
  state: { label: 'State', any: 'any', choices: STATES },
  session: { label: 'Session', autocomplete: 'off' },
  user: { label: 'End user', autocomplete: 'off' },
  correlation: { label: 'Correlation ID', autocomplete: 'off' },
  text: { label: 'Text', maxlength: MAX_SEARCHED_TEXT, autocomplete: 'off' },
  ...TIME_RANGE,
}

const NoMatch = () => (
  <Empty title="No message matches">
    <p>
      Change the filter, or <a href={`${BASE}/messages`}>show all messages</a>.
    </p>
  </Empty>
)

const NoMessages = () => (
  <Empty title="No messages yet">
    <p>
      <a href={`${BASE}/sessions`}>Send a message</a> to an agent.
    </p>
  </Empty>
)
