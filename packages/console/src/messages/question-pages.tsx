import { MessagingError, type Message, type ServiceError } from '@org/agent-messaging-core'
import {
  answerFields,
  answerOfForm,
  errorIn,
  orUndefined,
  type FormTexts,
} from '@org/agent-messaging-core/host'
import { given } from '@org/agent-messaging-core/runtime'
import { deadlineOf, deadlinePlace, openInput } from '@org/agent-messaging-core/storage'
import { answerFieldsHtml } from '@org/agent-messaging-http-kit'
import { askPage } from '../confirm.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { agentField, agentNames, type AgentNames, withKnownName } from '../agents.js'
import { SessionLink, sessionPath, Turn } from './conversation.js'
import { byActor, can, type Form, idIn, pageOf, projectIn, textIn } from '../parts/input.js'
import { FilterForm, PostForm, Hidden } from '../parts/fields.js'
import { show, showDone, showError, need } from '../parts/layout.js'
import { messageFilterIn, messagePath, Person } from './message-table.js'
import { countText, Facts, formatDuration, FullTime, Problem, Tabs } from '../parts/parts.js'
import { problemText } from '../parts/texts.js'
import { answerText, type Input, nameOf, Questions } from './questions.js'
import { type Columns, Empty, listPage } from '../parts/table.js'
import { shortened } from '../parts/wording.js'

const QUESTIONS = `${BASE}/questions`
/** The newest messages of the session, beside a question. */
const MAX_TURNS = 10
/** UTF-16 units. The page of the question has the whole text. */
const SHOWN_TEXT = 200
const CLOSED = 'This question is closed. Your answer was not stored.'

/** What a person has sent, and what is wrong with it. */
type Refused = {
  readonly status: 400 | 409 | 503
  readonly texts: FormTexts
  /** Shown if the question cannot be read. */
  readonly form?: Form
  readonly problems?: Readonly<Record<string, string>>
  readonly problem?: string
}

/** The open questions of the project, and one page for each with a form for its answer. */
export const questionRoutes = (d: ConsoleDeps) => {
  const maySee = need('inputs.list')
  const mayAnswer = need('inputs.answer')
  return newRoutes()
    .get('/questions', maySee, (c) => questionsPage(c, d))
    .get('/questions/answered', maySee, (c) => answeredPage(c, d))
    .get('/questions/:id', maySee, (c) => questionPage(c, d))
    .post('/questions/:id', mayAnswer, (c) => answer(c, d))
    .get('/questions/:id/withdraw', mayAnswer, (c) => withdrawPage(c, d))
    .post('/questions/:id/withdraw', mayAnswer, (c) => withdraw(c, d))
}

const pathFor = ({ id }: Message) => `${QUESTIONS}/${id}`

async function questionsPage(c: PageRequest, { service }: ConsoleDeps) {
  const { agent, session, user } = messageFilterIn(c.req.query(), 'UTC')
  const { limit } = pageOf(c)
  const cursor = c.req.query('cursor')
  const asked = given({ agent, sessionId: session, endUserId: user })
  const page = await service.inputs.list({
    projectId: projectIn(c),
    ...asked,
    limit,
    ...(deadlinePlace(cursor) && given({ cursor })),
  })
  const names = await agentNames(c, service)
  const isFiltered = Object.keys(asked).length > 0
  return listPage(c, {
    title: 'Questions',
    section: 'Questions',
    every: 3_000,
    page,
    before: (
      <>
        <Views shown="open" />
        <FilterForm
          path={QUESTIONS}
          fields={{
            agent: { any: 'any', ...agentField(names) },
            session: { label: 'Session', autocomplete: 'off' },
            user: { label: 'Person', autocomplete: 'off' },
          }}
          values={given({ agent, session, user })}
        />
      </>
    ),
    columns: questionColumns(names),
    next: 'Later deadlines',
    empty: (
      <Empty title={isFiltered ? 'No open questions match' : 'No open questions'}>
        <p>If an agent asks a person, the question appears here.</p>
      </Empty>
    ),
  })
}

const Views = ({ shown }: { readonly shown: 'open' | 'answered' }) => (
  <Tabs
    label="Questions shown"
    tabs={[
      ['Open', QUESTIONS, shown === 'open'],
      ['Answered', `${QUESTIONS}/answered`, shown === 'answered'],
    ]}
    current="page"
  />
)

type Answered = {
  readonly message: Message
  readonly input: Input
  readonly answer: NonNullable<Input['answer']>
}

/** Shows the questions that people answered, newest first. The audit log has them in this order. */
async function answeredPage(c: PageRequest, d: ConsoleDeps) {
  const { data, nextCursor } = await answeredOf(c, d)
  const names = await agentNames(c, d.service)
  const times = data.map(timeToAnswer).sort((a, b) => a - b)
  const median = times[Math.floor((times.length - 1) / 2)]
  return listPage(c, {
    title: 'Answered questions',
    section: 'Questions',
    page: { data, nextCursor },
    before: (
      <>
        <Views shown="answered" />
        {median !== undefined && (
          <p>
            Median time to answer of these{' '}
            {countText({ count: times.length, isAll: true }, 'question', 'questions')}:{' '}
            <b>{formatDuration(median)}</b>
          </p>
        )}
      </>
    ),
    columns: {
      Question: {
        class: 'any',
        cell: ({ message, input }) => (
          <a href={messagePath(message.id)} dir="auto">
            {shortened(input.question, SHOWN_TEXT)}
          </a>
        ),
      },
      Answer: {
        class: 'any',
        cell: ({ answer }) => <bdi>{shortened(answerText(answer), SHOWN_TEXT)}</bdi>,
      },
      By: {
        class: 'any',
        cell: ({ answer }) => (
          <bdi>{answer.executionPrincipal && nameOf(answer.executionPrincipal)}</bdi>
        ),
      },
      Agent: {
        class: 'any',
        cell: ({ message }) => names.get(message.agentId) ?? message.agentId,
      },
      After: (one) => formatDuration(timeToAnswer(one)),
      Answered: { at: ({ answer }) => answer.answeredAt },
    } satisfies Columns<Answered>,
    empty: (
      <Empty title="No answered questions">
        <p>Answers of people appear here.</p>
      </Empty>
    ),
  })
}

const timeToAnswer = ({ input, answer }: Answered) => answer.answeredAt - input.askedAt

async function answeredOf(c: PageRequest, { service }: ConsoleDeps) {
  const projectId = projectIn(c)
  const log = await service.auditLog.list({ projectId, action: 'input.answered', ...pageOf(c) })
  const data: Answered[] = []
  for (const { targetId: messageId, createdAt } of log.data) {
    const message = (await service.messages.search({ projectId, messageId, limit: 1 })).data[0]
      ?.message
    // A message with several questions has an entry for each.
    const input = message?.inputs?.findLast(
      ({ answer }) => answer?.executionPrincipal && answer.answeredAt <= createdAt,
    )
    if (message && input?.answer) data.push({ message, input, answer: input.answer })
  }
  return { data, nextCursor: log.nextCursor }
}

/** Open questions, with the name of the agent if it is known. */
export const questionColumns = (names: AgentNames): Columns<Message> => ({
  Question: {
    class: 'any',
    cell: (message) => (
      <a href={pathFor(message)} dir="auto">
        {shortened(openInput(message)?.question ?? '', SHOWN_TEXT)}
      </a>
    ),
    csv: (message) => openInput(message)?.question ?? '',
  },
  Agent: { class: 'any', cell: ({ agentId }) => names.get(agentId) ?? agentId },
  For: {
    class: 'any',
    cell: ({ executionPrincipal }) => <bdi>{nameOf(executionPrincipal)}</bdi>,
  },
  Asked: { at: ({ state }) => (state.kind === 'input_required' ? state.askedAt : undefined) },
  Deadline: ({ state }) => state.kind === 'input_required' && <FullTime at={state.deadlineAt} />,
})

/** Reads the message of the address. */
async function messageOf(c: PageRequest, { service }: ConsoleDeps): Promise<Message> {
  const messageId = idIn(c.req.param('id'))
  const search = { projectId: projectIn(c), messageId, limit: 1 }
  const message = (await service.messages.search(search)).data[0]?.message
  if (!message?.inputs) throw new MessagingError({ kind: 'input_not_found' })
  return message
}

const questionPage = (c: PageRequest, d: ConsoleDeps, refused?: Refused) =>
  readQuestion(c, d).then(
    ({ message, turns, agent }) => {
      const input = openInput(message)
      return show(
        c,
        {
          title: 'Question',
          section: 'Questions',
          crumb: (
            <>
              <a href={sessionPath(message.agentId, message.sessionId)}>session</a> /{' '}
              <a href={messagePath(message.id)}>message</a>
            </>
          ),
          status: refused?.status ?? 200,
        },
        <>
          <h1>Question</h1>
          <Problem text={refused?.problem} />
          <div class="halves">
            {input && can(c, 'inputs.answer') ? (
              <OpenQuestion message={message} input={input} refused={refused} />
            ) : (
              <div class="card stack">
                <Questions message={message} />
                {refused && <Kept texts={refused.texts} message={message} />}
              </div>
            )}
            <div>
              <h2>Conversation</h2>
              <div class="conversation">
                {turns.map((turn) => (
                  <Turn agent={agent} message={turn} />
                ))}
              </div>
            </div>
          </div>
        </>,
      )
    },
    (thrown) =>
      refused?.form ? unreadPage(c, refused.form, refused.problem) : showError(c, errorIn(thrown)),
  )

/** Shows the texts of a form again, and sends them again. */
const unreadPage = (c: PageRequest, form: Form, problem: string | undefined) =>
  show(
    c,
    { title: 'Question', section: 'Questions', status: 503 },
    <PostForm
      class="narrow card stack"
      intro={<h1>What you wrote</h1>}
      problem={problem}
      button="Send the answer again"
    >
      {Object.entries(form).flatMap(([name, texts]) =>
        [texts].flat().map((text) => (
          <>
            <input type="hidden" name={name} value={String(text)} />
            {name.startsWith('value') && (
              <pre class="prose" dir="auto">
                {String(text)}
              </pre>
            )}
          </>
        )),
      )}
    </PostForm>,
  )

/** Reads the question with the newest messages of its session. */
async function readQuestion(c: PageRequest, d: ConsoleDeps) {
  const message = await messageOf(c, d)
  const { projectId, agentId, sessionId } = message
  const ref = { projectId, agent: agentId }
  const agent = await d.service.agents.get(ref)
  const { data } = await d.service.messages.list({ ...ref, sessionId, limit: MAX_TURNS })
  return { message, agent: withKnownName(c, agent, agentId), turns: data.toReversed() }
}

type OpenProps = {
  readonly message: Message
  readonly input: Input
  readonly refused: Refused | undefined
}

const OpenQuestion = ({ message, input, refused }: OpenProps) => (
  <PostForm
    action={pathFor(message)}
    class="card stack"
    novalidate
    intro={
      <>
        <p class="prose" dir="auto">
          {input.question}
        </p>
        <Facts
          isCard={false}
          facts={{
            For: <Person principal={message.executionPrincipal} />,
            Session: <SessionLink agent={message.agentId} sessionId={message.sessionId} />,
            Deadline: <FullTime at={deadlineOf(message)} />,
            Metadata: message.metadata && (
              <pre tabindex={0}>{JSON.stringify(message.metadata, null, 2)}</pre>
            ),
          }}
        />
        {answerFieldsHtml(answerFields(input), { ...refused, hasKeys: true })}
      </>
    }
    fields={{
      endUserId: {
        label: 'End user who answers',
        autocomplete: 'off',
        hint:
          input.answerBy === undefined
            ? 'Leave this field empty to answer as the service.'
            : 'Only the principal of the message can answer.',
      },
    }}
    values={{ endUserId: refused?.texts('endUserId')[0] }}
    button="Send the answer"
    beside={
      <a class="button" href={`${pathFor(message)}/withdraw`}>
        Withdraw
      </a>
    }
  >
    <Hidden values={{ inputId: input.id }} />
  </PostForm>
)

/** Shows an answer that was not stored, so that its text is not lost. */
function Kept({ texts, message }: { readonly texts: FormTexts; readonly message: Message }) {
  const fields = (message.inputs ?? [])
    .filter(({ id }) => texts('inputId').includes(id))
    .flatMap(answerFields)
    .filter(({ name }) => texts(name).join('') !== '')
  return (
    fields.length > 0 && (
      <>
        <h2>What you wrote</h2>
        {fields.map(({ name, label }) => (
          <div>
            <p class="muted">
              <bdi>{label}</bdi>
            </p>
            <pre class="prose" dir="auto">
              {texts(name).join('\n')}
            </pre>
          </div>
        ))}
      </>
    )
  )
}

async function answer(c: PageRequest, d: ConsoleDeps) {
  const form = await c.req.parseBody({ all: true })
  const texts: FormTexts = (name) =>
    [form[name] ?? []].flat().filter((one) => typeof one === 'string')
  const inputId = textIn(form, 'inputId')
  const endUserId = textIn(form, 'endUserId').trim()
  const message = await orUndefined(messageOf(c, d))
  const input = message?.inputs?.find((one) => one.id === inputId)
  const read = input && answerOfForm(input, texts)
  if (
    read &&
    Object.keys(read.problems).length > 0 &&
    message &&
    openInput(message)?.id === inputId
  )
    return questionPage(c, d, { texts, problems: read.problems, status: 400 })
  const done = messageOf(c, d).then(({ projectId, agentId, id }) => {
    if (!read) throw new MessagingError({ kind: 'input_not_found' })
    return d.service.inputs.answer({
      actor: c.get('actor'),
      projectId,
      agent: agentId,
      messageId: id,
      inputId,
      value: read.value,
      ...(endUserId !== '' && { executionPrincipal: { type: 'end_user', endUserId } }),
    })
  })
  return showDone(
    c,
    done,
    () => afterAnswer(c, d),
    (error) => {
      const status = STATUSES[error.kind]
      if (status === undefined) return false
      const kept = status === 503 ? { form } : {}
      return questionPage(c, d, { texts, problem: refusalText(error), status, ...kept })
    },
  )
}

/** The refusals of an answer that its page shows. */
const STATUSES: { readonly [Kind in ServiceError['kind']]?: Refused['status'] } = {
  invalid: 400,
  input_restricted: 400,
  principal_invalid: 400,
  input_closed: 409,
  unavailable: 503,
}

function refusalText(error: ServiceError) {
  if (error.kind === 'input_closed') return CLOSED
  return error.kind === 'invalid'
    ? error.issues.map(({ message }) => `The answer ${message}`).join('; ')
    : problemText(error)
}

/** Returns the path of the next question, so that a person can answer one after the other. */
async function afterAnswer(c: PageRequest, { service }: ConsoleDeps) {
  const found = await orUndefined(service.inputs.list({ projectId: projectIn(c), limit: 1 }))
  const next = found?.data[0]
  return `/questions${next ? `/${next.id}` : ''}?notice=inputAnswered`
}

async function withdrawPage(c: PageRequest, d: ConsoleDeps) {
  const message = await messageOf(c, d)
  const input = openInput(message)
  if (!input) return questionPage(c, d)
  const path = pathFor(message)
  return askPage(
    c,
    {
      title: 'Withdraw question',
      section: 'Questions',
      question: 'Withdraw this question?',
      path: `${path}/withdraw`,
      button: 'Withdraw question',
      back: path,
    },
    <>
      <p class="prose" dir="auto">
        {input.question}
      </p>
      <ul class="consequences">
        <li>The question gets no answer. You cannot undo this.</li>
        <li>
          Its message fails with <code>INPUT_WITHDRAWN</code>. A retry of the message starts it
          again.
        </li>
      </ul>
      <Hidden values={{ inputId: input.id }} />
    </>,
  )
}

async function withdraw(c: PageRequest, d: ConsoleDeps) {
  const inputId = textIn(await c.req.parseBody(), 'inputId')
  const done = messageOf(c, d).then(({ projectId, agentId: agent, id: messageId }) =>
    d.service.inputs.withdraw(byActor(c, { projectId, agent, messageId, inputId })),
  )
  return showDone(
    c,
    done,
    '/questions?notice=inputWithdrawn',
    (error) =>
      error.kind === 'input_closed' &&
      questionPage(c, d, {
        texts: () => [],
        problem: 'This question is already closed.',
        status: 409,
      }),
  )
}
