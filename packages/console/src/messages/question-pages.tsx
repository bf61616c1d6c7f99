import { MessagingError, type Message } from '@org/agent-messaging-core'
import { answerOfForm } from '@org/agent-messaging-core/host'
import { openInput } from '@org/agent-messaging-core/storage'
import { askPage } from '../confirm.js'
import { type ConsoleDeps, newRoutes, type PageRequest } from '../context.js'
import { agentNames } from '../agents.js'
import { sessionPath } from './conversation.js'
import { byActor, idIn, pageOf, projectIn, textIn } from '../parts/input.js'
import { PostForm } from '../parts/fields.js'
import { show, showDone, showFound } from '../parts/layout.js'
import { messagePath } from './message-table.js'
import { BASE } from '../options.js'
import { FullTime, Problem } from '../parts/parts.js'
import { problemText } from '../parts/texts.js'
import { fieldsOfAnswer, type Input, nameOf, Questions, type Refused } from './questions.js'
import { type Columns, Empty, listPage } from '../parts/table.js'
import { need } from '../access/sign-in.js'
import { shortened } from '../parts/wording.js'

const QUESTIONS = `${BASE}/questions`
/** UTF-16 units. The page of the question has the whole text. */
const SHOWN_TEXT = 200
const CLOSED = 'This question is closed. Your answer was not stored.'

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

const columnsFor = (agentNamesById: ReadonlyMap<string, string>): Columns<Message> => ({
  Question: {
    class: 'any',
    cell: (message) => (
      <a href={pathFor(message)} dir="auto">
        {shortened(openInput(message)?.question ?? '', SHOWN_TEXT)}
      </a>
    ),
    csv: (message) => openInput(message)?.question ?? '',
  },
  Agent: { class: 'any', cell: ({ agentId }) => agentNamesById.get(agentId) ?? agentId },
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
  { refused, problem }: { readonly refused?: Refused; readonly problem?: string } = {},
) =>
  showFound(c, messageOf(c, d), (message) => {
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
          <OpenQuestion message={message} input={input} refused={refused} />
        ) : (
          <div class="card">
            <Questions message={message} />
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
      </>
    }
    fields={{
      ...fieldsOfAnswer(input, refused),
      endUserId: {
        label: 'End user who answers',
        autocomplete: 'off',
        hint:
          input.answerBy === undefined
            ? 'Leave this field empty to answer as the service.'
            : 'Only the principal of the message can answer.',
      },
    }}
    values={refused?.form as Readonly<Record<string, string>> | undefined}
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

async function answer(c: PageRequest, d: ConsoleDeps) {
  const form = await c.req.parseBody()
  const inputId = textIn(form, 'inputId')
  const endUserId = textIn(form, 'endUserId').trim()
  const given = messageOf(c, d).then(({ projectId, agentId, id, inputs }) => {
    const input = inputs?.find((one) => one.id === inputId)
    if (!input) throw new MessagingError({ kind: 'input_not_found' })
    return d.service.inputs.answer({
      actor: c.get('actor'),
      projectId,
      agent: agentId,
      messageId: id,
      inputId,
      value: answerOfForm(input, (name) => textIn(form, name)),
      ...(endUserId !== '' && { executionPrincipal: { type: 'end_user', endUserId } }),
    })
  })
  return showDone(c, given, '/questions?notice=inputAnswered', (error) => {
    switch (error.kind) {
      case 'invalid': {
        const problem = error.issues.map((issue) => `The answer ${issue.message}`).join('; ')
        return questionPage(c, d, { refused: { form, problem } })
      }
      case 'input_restricted':
      case 'principal_invalid':
        return questionPage(c, d, { refused: { form, problem: problemText(error) } })
      case 'input_closed':
        return questionPage(c, d, { problem: CLOSED })
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
      questionPage(c, d, { problem: 'This question is already closed.' }),
  )
}
