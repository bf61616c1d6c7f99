import { MessagingError, type Message } from '@org/agent-messaging-core'
import {
  answerFields,
  answerOfForm,
  orUndefined,
  type FormTexts,
} from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import { answerFieldsHtml } from '@org/agent-messaging-http-kit'
import { askPage } from '../confirm.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { agentNames, type AgentNames } from '../agents.js'
import { sessionPath } from './conversation.js'
import { byActor, idIn, pageOf, projectIn, textIn } from '../parts/input.js'
import { PostForm } from '../parts/fields.js'
import { show, showDone, showFound } from '../parts/layout.js'
import { messagePath } from './message-table.js'
import { BASE } from '../options.js'
import { FullTime, Problem } from '../parts/parts.js'
import { problemText } from '../parts/texts.js'
import { type Input, nameOf, Questions } from './questions.js'
import { type Columns, Empty, listPage } from '../parts/table.js'
import { need } from '../access/sign-in.js'
import { shortened } from '../parts/wording.js'

const QUESTIONS = `${BASE}/questions`
/** UTF-16 units. The page of the question has the whole text. */
const SHOWN_TEXT = 200
const CLOSED = 'This question is closed. Your answer was not stored.'

/** What a person has sent, and what is wrong with it. */
type Refused = {
  readonly texts: FormTexts
  readonly problems?: Readonly<Record<string, string>>
  readonly problem?: string
}

/** The open questions of the project, and one page for each with a form for its answer. */
export const questionRoutes = (d: ConsoleDeps) => {
  const maySend = need('project:message')
  return newRoutes()
    .get('/questions', maySend, (c) => questionsPage(c, d))
    .get('/questions/:id', maySend, (c) => questionPage(c, d))
    .post('/questions/:id', maySend, (c) => answer(c, d))
    .get('/questions/:id/withdraw', maySend, (c) => withdrawPage(c, d))
    .post('/questions/:id/withdraw', maySend, (c) => withdraw(c, d))
}

const pathFor = ({ id }: Message) => `${QUESTIONS}/${id}`

const questionsPage = (c: PageRequest, { service }: ConsoleDeps) =>
  showFound(c, service.inputs.list({ projectId: projectIn(c), ...pageOf(c) }), async (page) =>
    listPage(c, {
      title: 'Questions',
      section: 'Questions',
      every: 3_000,
      page,
      columns: columnsFor(await agentNames(c, service)),
      empty: (
        <Empty title="No open questions">
          <p>If an agent asks a person, the question appears here.</p>
        </Empty>
      ),
    }),
  )

const columnsFor = (names: AgentNames): Columns<Message> => ({
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

const questionPage = (
  c: PageRequest,
  d: ConsoleDeps,
  { refused, status = 200 }: { readonly refused?: Refused; readonly status?: 200 | 400 | 409 } = {},
) =>
  showFound(c, messageOf(c, d), (message) => {
    const input = openInput(message)
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
        <Problem text={refused?.problem} />
        {input ? (
          <OpenQuestion message={message} input={input} refused={refused} />
        ) : (
          <div class="card stack">
            <Questions message={message} />
            {refused && <Kept message={message} texts={refused.texts} />}
          </div>
        )}
      </>,
    )
  })

type OpenProps = {
  readonly message: Message
  readonly input: Input
  readonly refused: Refused | undefined
}

const OpenQuestion = ({ message, input, refused }: OpenProps) => (
  <PostForm
    action={pathFor(message)}
    class="narrow card stack"
    novalidate
    intro={
      <>
        <p class="prose" dir="auto">
          {input.question}
        </p>
        <p class="muted">
          For <bdi>{nameOf(message.executionPrincipal)}</bdi>
          {message.state.kind === 'input_required' && (
            <>
              . Deadline: <FullTime at={message.state.deadlineAt} />
            </>
          )}
        </p>
        {answerFieldsHtml(answerFields(input), refused)}
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
    <input type="hidden" name="inputId" value={input.id} />
  </PostForm>
)

/** Shows the answer that came too late, so that its text is not lost. */
const Kept = ({ message, texts }: { readonly message: Message; readonly texts: FormTexts }) => (
  <>
    <h2>What you wrote</h2>
    {(message.inputs ?? [])
      .filter(({ id }) => texts('inputId').includes(id))
      .flatMap(answerFields)
      .map(({ name, label }) => [label, texts(name).join('\n')] as const)
      .filter(([, text]) => text !== '')
      .map(([label, text]) => (
        <div>
          <p class="muted">
            <bdi>{label}</bdi>
          </p>
          <pre class="prose" dir="auto">
            {text}
          </pre>
        </div>
      ))}
  </>
)

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
    return questionPage(c, d, { refused: { texts, problems: read.problems }, status: 400 })
  const given = messageOf(c, d).then(({ projectId, agentId, id }) => {
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
  return showDone(c, given, '/questions?notice=inputAnswered', (error) => {
    switch (error.kind) {
      case 'invalid': {
        const problem = error.issues.map((issue) => `The answer ${issue.message}`).join('; ')
        return questionPage(c, d, { refused: { texts, problem }, status: 400 })
      }
      case 'input_restricted':
      case 'principal_invalid':
        return questionPage(c, d, { refused: { texts, problem: problemText(error) }, status: 400 })
      case 'input_closed':
        return questionPage(c, d, { refused: { texts, problem: CLOSED }, status: 409 })
      default:
        return false
    }
  })
}

const withdrawPage = (c: PageRequest, d: ConsoleDeps) =>
  showFound(c, messageOf(c, d), (message) => {
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
        <input type="hidden" name="inputId" value={input.id} />
      </>,
    )
  })

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
        refused: { texts: () => [], problem: 'This question is already closed.' },
        status: 409,
      }),
  )
}
