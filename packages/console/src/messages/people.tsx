import type { FoundMessage, Message } from '@org/agent-messaging-core'
import type { PrincipalTraces } from '@org/agent-messaging-core/host'
import { isStorableText } from '@org/agent-messaging-core/runtime'
import { AgentLink, agentNames, type AgentNames } from '../agents.js'
import { askPage } from '../confirm.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { Check, Hidden } from '../parts/fields.js'
import { byActor, can, projectIn, textIn } from '../parts/input.js'
import { show, showProblem, need } from '../parts/layout.js'
import { countText, formatCount, Problem } from '../parts/parts.js'
import { type Columns, Live, TableSection } from '../parts/table.js'
import { SessionLink, NameHeading } from './conversation.js'
import { messageColumns, messagesPath, PEOPLE, personPath } from './message-table.js'
import { questionColumns } from './question-pages.js'

/** The newest messages, whose sessions the page lists. */
const MAX_MESSAGES = 100
const SHOWN_MESSAGES = 25
/** A browser waits this long for one part of an erasure, or of its count. */
const PART_MS = 10_000

/** One person: the end user of messages. */
export const peopleRoutes = (d: ConsoleDeps) =>
  newRoutes()
    .get('/people', need('messages.search'), (c) => personPage(c, d))
    .get('/people/erase', need('principals.erase'), (c) => erasePage(c, d))
    .post('/people/erase', need('principals.erase'), (c) => erase(c, d))

/** Returns the end user that the address names. No message has an illegal id. */
function personIn(c: PageRequest) {
  const endUserId = c.req.query('id') ?? ''
  return { projectId: projectIn(c), endUserId: isStorableText(endUserId) ? endUserId : '' }
}

async function personPage(c: PageRequest, { service }: ConsoleDeps) {
  const person = personIn(c)
  const { endUserId: id } = person
  if (id === '') return showProblem(c, 404, 'This person does not exist')
  const { data: messages } = await service.messages.search({ ...person, limit: MAX_MESSAGES })
  const { data: questions } = await service.inputs.list({ ...person, limit: SHOWN_MESSAGES })
  const names = await agentNames(c, service)
  return show(
    c,
    { title: id, section: 'Conversations', crumb: 'person' },
    <>
      <NameHeading name={id} erase={can(c, 'principals.erase') && erasePath(id)} />
      <Live every={5_000}>
        {questions.length > 0 && (
          <TableSection
            id="questions"
            title="Open questions"
            rows={questions}
            columns={{ ...questionColumns(names), For: false }}
          />
        )}
        <TableSection
          id="sessions"
          title="Sessions"
          rows={sessionsOf(messages)}
          columns={sessionColumns(names)}
          empty={NOTHING}
        />
        <TableSection
          id="messages"
          title={
            <>
              Messages <a href={messagesPath({ user: id })}>Show all</a>
            </>
          }
          rows={messages.slice(0, SHOWN_MESSAGES)}
          columns={{ ...messageColumns(names), For: false }}
          empty={NOTHING}
        />
      </Live>
    </>,
  )
}

const NOTHING = <p class="inset muted">No message names this end user.</p>

/** Returns the newest message of each session. */
function sessionsOf(messages: readonly FoundMessage[]): readonly Message[] {
  const newest = new Map<string, Message>()
  for (const { message } of messages) {
    const session = `${message.agentId} ${message.sessionId}`
    if (!newest.has(session)) newest.set(session, message)
  }
  return [...newest.values()]
}

const sessionColumns = (names: AgentNames): Columns<Message> => ({
  Session: {
    class: 'any',
    cell: ({ agentId, sessionId }) => <SessionLink agent={agentId} sessionId={sessionId} />,
  },
  Agent: ({ agentId }) => <AgentLink id={agentId} names={names} />,
  'Last message': { at: ({ createdAt }) => createdAt },
})

const erasePath = (id: string) => personPath(id).replace(PEOPLE, `${PEOPLE}/erase`)

/** Adds up the parts of a walk over the rows of a person, for a bounded time. */
async function walk(
  now: () => number,
  part: (cursor: string | undefined) => Promise<PrincipalTraces>,
  from?: string,
) {
  const end = now() + PART_MS
  let sum = { messages: 0, openMessages: 0, deliveries: 0 }
  let cursor: string | null | undefined = from
  do {
    const { nextCursor, ...found }: PrincipalTraces = await part(cursor ?? undefined)
    sum = {
      messages: sum.messages + found.messages,
      openMessages: sum.openMessages + found.openMessages,
      deliveries: sum.deliveries + found.deliveries,
    }
    cursor = nextCursor
  } while (cursor !== null && now() < end)
  return { ...sum, cursor }
}

type Walked = Awaited<ReturnType<typeof walk>>

async function erasePage(c: PageRequest, { service }: ConsoleDeps) {
  const person = personIn(c)
  const found = await walk(service.host.now, (cursor) =>
    service.principals.count({ ...person, cursor }),
  )
  return ask(c, person.endUserId, found)
}

const ask = (c: PageRequest, id: string, found: Walked, problem?: string) => {
  const { messages, openMessages, deliveries, cursor } = found
  const isAll = cursor === null
  return askPage(
    c,
    {
      title: 'Erase person',
      section: 'Conversations',
      problem,
      question: 'Erase this person?',
      path: erasePath(id),
      button: 'Erase',
      back: personPath(id),
    },
    <>
      <p class="url">{id}</p>
      <Problem text={problem} />
      <ul class="consequences">
        <li>
          This deletes {countText({ count: messages, isAll }, 'message', 'messages')} with their
          answers, and {countText({ count: deliveries, isAll }, 'delivery', 'deliveries')} with all
          attempts. You cannot undo this.
        </li>
        <li>Messages of other people in the same sessions stay.</li>
        <li>Receivers of webhooks, agents and backups keep their copies.</li>
      </ul>
      {openMessages > 0 && (
        <Check name="force" value="yes">
          Erase {countText({ count: openMessages, isAll }, 'open message', 'open messages')} too:
          they get no answer
        </Check>
      )}
    </>,
  )
}

async function erase(c: PageRequest, { service }: ConsoleDeps) {
  const person = personIn(c)
  const { endUserId: id } = person
  const form = await c.req.parseBody()
  const force = textIn(form, 'force') === 'yes'
  const input = byActor(c, { ...person, force })
  const { cursor, ...erased } = await walk(
    service.host.now,
    (cursor) => service.principals.erase({ ...input, cursor }),
    textIn(form, 'cursor') || undefined,
  )
  if (cursor !== null) return goOn(c, id, { ...erased, cursor, force })
  if (erased.openMessages === 0) return c.redirect(`${personPath(id)}&notice=personErased`, 303)
  const kept = 'Open messages were kept. The other ones were erased.'
  return ask(c, id, { ...erased, messages: 0, deliveries: 0, cursor }, kept)
}

type Part = { readonly messages: number; readonly cursor: string; readonly force: boolean }

/** A long erasure goes on with a request for each part, so that no browser gives up. */
const goOn = (c: PageRequest, id: string, { messages, cursor, force }: Part) =>
  askPage(
    c,
    {
      title: 'Erase person',
      section: 'Conversations',
      question: 'The erasure is not finished',
      path: erasePath(id),
      button: 'Continue',
      back: personPath(id),
    },
    <>
      <p>
        {formatCount(messages)} messages were erased in this part. Continue, until all of the
        project’s deliveries were looked at.
      </p>
      <Hidden values={{ cursor, force: force ? 'yes' : undefined }} />
    </>,
  )
