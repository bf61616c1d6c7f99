import type { Instant, Message } from '@org/agent-messaging-core'
import { defaultLimits } from '@org/agent-messaging-core'
import { answerOfForm, openInput } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { Choice } from '../confirm.js'
import type { ConsoleDeps, Env } from '../context.js'
import { sessionPath } from './conversation.js'
import { idIn, pageOf, textIn, byActor } from '../parts/input.js'
import { show, showError } from '../parts/layout.js'
import { messagePath } from './message-table.js'
import { BASE } from '../options.js'
import { Empty, FullTime, Next, pathOf, Problem, refreshed, Time } from '../parts/parts.js'
import { problemText } from '../parts/problem.js'
import { AnswerFields, type Refused } from './question-form.js'
import { Questions, type Input } from './questions.js'
import { need } from '../access/sign-in.js'
import { shortened } from '../parts/wording.js'

const QUESTIONS = `${BASE}/questions`
/** UTF-16 units. The page of the question has the whole text. */
const SHOWN_TEXT = 200
const CLOSED = 'This question is closed. Your answer was not stored.'

/** The open questions of the project, and one page for each with a form for its answer. */
export const questionRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return new Hono<Env>()
    .get(QUESTIONS, maySend, (c) => listPage(c, d))
    .get(`${QUESTIONS}/:id`, maySend, (c) => questionPage(c, d))
    .post(`${QUESTIONS}/:id`, maySend, (c) => answer(c, d))
    .get(`${QUESTIONS}/:id/withdraw`, maySend, (c) => withdrawPage(c, d))
    .post(`${QUESTIONS}/:id/withdraw`, maySend, (c) => withdraw(c, d))
}

const pathFor = ({ id }: Message): string => `${QUESTIONS}/${id}`

async function listPage(c: Context<Env>, { service }: ConsoleDeps) {
  const { projectId } = c.get('apiKey')
  const found = await service.inputs.list({ projectId, page: pageOf(c) })
  if (found.isErr()) return showError(c, found.error)
  const names = await agentNames(c, service)
  const { data, nextCursor } = found.value
  return show(
    c,
    { title: 'Questions', section: 'Questions' },
    <>
      <h1>Questions</h1>
      <div {...refreshed('live', 3_000, pathOf(c))}>
        {data.length === 0 ? (
          <Empty title="No open questions">
            <p>If an agent asks a person, the question appears here.</p>
          </Empty>
        ) : (
          <div class="scroll card flush" role="region" aria-label="Questions" tabindex={0}>
            <QuestionTable messages={data} names={names} now={service.now()} />
          </div>
        )}
        <Next c={c} cursor={nextCursor} />
      </div>
    </>,
  )
}

/** Returns the names of agents by their ids, if the API key can list agents. */
async function agentNames(c: Context<Env>, service: ConsoleDeps['service']) {
  const { projectId, permissions } = c.get('apiKey')
  if (!permissions.includes('project:agents')) return new Map<string, string>()
  const found = await service.agents.list(projectId, { limit: defaultLimits.agentsPerProject })
  return new Map(found.isOk() ? found.value.data.map(({ id, name }) => [id, name]) : [])
}

type TableProps = {
  readonly messages: readonly Message[]
  /** The names of agents by their ids. */
  readonly names: ReadonlyMap<string, string>
  readonly now: Instant
}

const QuestionTable = ({ messages, names, now }: TableProps) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Question</th>
        <th scope="col">Agent</th>
        <th scope="col">For</th>
        <th scope="col">Asked</th>
        <th scope="col">Deadline</th>
      </tr>
    </thead>
    <tbody>
      {messages.map((message) => (
        <tr>
          <th scope="row" class="any">
            <a href={pathFor(message)} dir="auto">
              {shortened(openInput(message)?.question ?? '', SHOWN_TEXT)}
            </a>
          </th>
          <td data-label="Agent" class="any">
            {names.get(message.agentId) ?? message.agentId}
          </td>
          <td data-label="For" class="any">
            <bdi>{userOf(message) ?? 'the service'}</bdi>
          </td>
          {message.state.kind === 'input_required' && (
            <>
              <td data-label="Asked">
                <Time at={message.state.askedAt} now={now} />
              </td>
              <td data-label="Deadline">
                <FullTime at={message.state.deadlineAt} now={now} />
              </td>
            </>
          )}
        </tr>
      ))}
    </tbody>
  </table>
)

const userOf = ({ executionPrincipal: principal }: Message): string | undefined =>
  principal.type === 'service' ? undefined : principal.endUserId

/** Reads the message of the address. */
async function messageOf(c: Context<Env>, { service }: ConsoleDeps) {
  const { projectId } = c.get('apiKey')
  const messageId = idIn(c.req.param('id'))
  const found = await service.messages.search({ projectId, messageId, page: { limit: 1 } })
  return found.map(({ data }) => data[0]?.message)
}

async function questionPage(
  c: Context<Env>,
  d: ConsoleDeps,
  { refused, problem }: { readonly refused?: Refused; readonly problem?: string } = {},
) {
  const found = await messageOf(c, d)
  if (found.isErr()) return showError(c, found.error)
  const message = found.value
  if (!message?.inputs) return showError(c, { kind: 'input_not_found' })
  const input = openInput(message)
  const status = problem !== undefined ? 409 : refused ? 400 : 200
  return show(
    c,
    { title: 'Question', section: 'Questions', status },
    <>
      <p class="crumbs">
        <a href={QUESTIONS}>Questions</a> /{' '}
        <a href={sessionPath(message.agentId, message.sessionId)}>session</a> /{' '}
        <a href={messagePath(message.id)}>message</a>
      </p>
      <h1>Question</h1>
      <Problem text={problem} />
      {input ? (
        <OpenQuestion message={message} input={input} refused={refused} now={d.service.now()} />
      ) : (
        <div class="card">
          <Questions message={message} now={d.service.now()} />
        </div>
      )}
    </>,
  )
}

type OpenProps = {
  readonly message: Message
  readonly input: Input
  readonly refused: Refused | undefined
  readonly now: Instant
}

const OpenQuestion = ({ message, input, refused, now }: OpenProps) => (
  <form method="post" action={pathFor(message)} class="narrow card stack">
    <p class="prose" dir="auto">
      {input.question}
    </p>
    <p class="muted">
      For <bdi>{userOf(message) ?? 'the service'}</bdi>
      {message.state.kind === 'input_required' && (
        <>
          . Deadline: <FullTime at={message.state.deadlineAt} now={now} />
        </>
      )}
    </p>
    <input type="hidden" name="inputId" value={input.id} />
    <AnswerFields input={input} refused={refused} />
    <div>
      <label for="endUserId">End user who answers</label>
      <input
        id="endUserId"
        name="endUserId"
        value={refused ? textIn(refused.form, 'endUserId') : ''}
        autocomplete="off"
        aria-describedby="who"
      />
      <p id="who" class="muted">
        {input.answerBy === undefined
          ? 'Leave this field empty to answer as the service.'
          : 'Only the principal of the message can answer.'}
      </p>
    </div>
    <p class="buttons">
      <button class="primary">Send the answer</button>
      <a class="button" href={`${pathFor(message)}/withdraw`}>
        Withdraw
      </a>
    </p>
  </form>
)

async function answer(c: Context<Env>, d: ConsoleDeps) {
  const form = await c.req.parseBody()
  const found = await messageOf(c, d)
  if (found.isErr()) return showError(c, found.error)
  const message = found.value
  const inputId = textIn(form, 'inputId')
  const input = message?.inputs?.find(({ id }) => id === inputId)
  if (!message || !input) return showError(c, { kind: 'input_not_found' })
  const endUserId = textIn(form, 'endUserId').trim()
  const given = await d.service.inputs.answer({
    actor: c.get('actor'),
    projectId: message.projectId,
    agent: message.agentId,
    messageId: message.id,
    inputId,
    value: answerOfForm(input, (name) => textIn(form, name)),
    ...(endUserId !== '' && { executionPrincipal: { type: 'end_user', endUserId } }),
  })
  if (given.isOk()) return c.redirect(`${QUESTIONS}?notice=inputAnswered`, 303)
  const { error } = given
  switch (error.kind) {
    case 'invalid':
      return questionPage(c, d, {
        refused: {
          form,
          problem: error.issues.map((issue) => `The answer ${issue.message}`).join('; '),
        },
      })
    case 'input_restricted':
    case 'principal_invalid':
      return questionPage(c, d, { refused: { form, problem: problemText(error) } })
    case 'input_closed':
      return questionPage(c, d, { problem: CLOSED })
    default:
      return showError(c, error)
  }
}

async function withdrawPage(c: Context<Env>, d: ConsoleDeps) {
  const found = await messageOf(c, d)
  if (found.isErr()) return showError(c, found.error)
  const message = found.value
  const input = message && openInput(message)
  if (!message || !input) return questionPage(c, d)
  return show(
    c,
    { title: 'Withdraw question', section: 'Questions' },
    <form method="post" action={`${pathFor(message)}/withdraw`} class="narrow card stack">
      <h1>Withdraw this question?</h1>
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
      <input type="hidden" name="inputId" value={input.id} />
      <Choice action="Withdraw question" back={pathFor(message)} />
    </form>,
  )
}

async function withdraw(c: Context<Env>, d: ConsoleDeps) {
  const inputId = textIn(await c.req.parseBody(), 'inputId')
  const found = await messageOf(c, d)
  if (found.isErr()) return showError(c, found.error)
  if (!found.value) return showError(c, { kind: 'input_not_found' })
  const { projectId, agentId: agent, id: messageId } = found.value
  const done = await d.service.inputs.withdraw(byActor(c, { projectId, agent, messageId, inputId }))
  if (done.isOk()) return c.redirect(`${QUESTIONS}?notice=inputWithdrawn`, 303)
  return done.error.kind === 'input_closed'
    ? questionPage(c, d, { problem: 'This question is already closed.' })
    : showError(c, done.error)
}
