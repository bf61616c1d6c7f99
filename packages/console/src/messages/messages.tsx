import type { Instant, Message, MessageStory } from '@org/agent-messaging-core'
import { isFinal } from '@org/agent-messaging-core/storage'
import type { Child } from 'hono/jsx'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { can, idIn, projectIn } from '../parts/input.js'
import { show, need } from '../parts/layout.js'
import { Person, sessionsPath } from './message-table.js'
import { Live } from '../parts/table.js'
import { AnswerParts, partsOf, withParts } from './answer-parts.js'
import { MessageActions, SessionLink, sessionPath } from './conversation.js'
import { DeliveryLink, NextAttempt } from '../deliveries/delivery-table.js'
import { withKnownName } from '../agents.js'
import {
  Facts,
  formatDuration,
  FullTime,
  Status,
  type Tone,
  WholeId,
  Card,
} from '../parts/parts.js'
import { StoryText } from '../parts/story.js'
import { nameOf, Questions } from './questions.js'
import { ErrorText, messageLabel, outcomeLabel, runLabel, shortened } from '../parts/wording.js'

export const messageRoutes = (d: ConsoleDeps) =>
  newRoutes().get('/messages/:id', need('messages.get'), (c) => messagePage(c, d))

/** UTF-16 units of an error or of a receiver's answer. */
const SHOWN_WORDS = 500

/** Tells the story of one message: why it is where it is, and what happened, in order. */
async function messagePage(c: PageRequest, { service }: ConsoleDeps) {
  const isForCustomer = c.get('portal') !== undefined
  const story = await service.messages.story({
    projectId: projectIn(c),
    messageId: idIn(c.req.param('id')),
    withReceivers: can(c, 'deliveries.list'),
    isForCustomer,
  })
  const message = await withParts(service, story.message)
  const all = { ...story, message }
  const agent = withKnownName(c, all.agent, all.agent.id)
  const person = nameOf(message.executionPrincipal)
  return show(
    c,
    {
      title: `Message for ${person} in ${message.sessionId}`,
      section: 'Conversations',
      crumb: (
        <>
          <a href={sessionPath(agent.name, message.sessionId)}>session</a> / message
        </>
      ),
    },
    <>
      <h1 class="long">
        Message for <bdi>{person}</bdi> in <bdi>{message.sessionId}</bdi>
      </h1>
      <Live every={isFinal(message.state) ? 5_000 : 1_000}>
        <StoryText story={all.story} />
        <MessageActions agent={agent} message={message} />
        <div class="columns">
          <Card id="story" title="What happened">
            <ol class="timeline">
              {stepsOf(all, isForCustomer)
                .toSorted((a, b) => (a.at ?? Infinity) - (b.at ?? Infinity) || 0)
                .map((step) => (
                  <li class={step.tone}>
                    <p>
                      {step.title} {step.at !== undefined && <FullTime at={step.at} />}
                    </p>
                    {step.body}
                  </li>
                ))}
            </ol>
          </Card>
          <MessageFacts {...all} agent={agent} />
        </div>
      </Live>
    </>,
  )
}

/** A step without a time is about the future. */
type Step = {
  readonly at?: Instant
  readonly tone: Tone
  readonly title: Child
  readonly body?: Child
}

function stepsOf(all: MessageStory, isForCustomer: boolean): Step[] {
  const { message, receivers } = all
  const sent: Step = {
    at: message.createdAt,
    tone: 'idle',
    title: <strong>Sent</strong>,
    body: <Text text={message.message} />,
  }
  return [
    sent,
    ...runSteps(all),
    ...questionSteps(message),
    ...endOf(all),
    ...(receivers ? deliverySteps(receivers, isForCustomer) : []),
  ]
}

function runSteps({ runs, message }: MessageStory): Step[] {
  return runs.map(({ attempt, startedAt, endedAt, reason, error, usage }, at) => ({
    at: startedAt,
    tone: runLabel(reason).tone,
    title: (
      <>
        <strong>Run {attempt}</strong> <Status {...runLabel(reason)} />
      </>
    ),
    body: (
      <>
        <p class="muted">
          {at === 0 && (
            <span>after {formatDuration(startedAt - message.createdAt)} in the queue</span>
          )}
          {endedAt !== undefined && <span>took {formatDuration(endedAt - startedAt)}</span>}
          {usage && (
            <span>
              {usage.inputTokens ?? 0} tokens in, {usage.outputTokens ?? 0} out
            </span>
          )}
        </p>
        {error && <ErrorText {...error} />}
      </>
    ),
  }))
}

const questionSteps = (message: Message): Step[] =>
  (message.inputs ?? []).map((input) => ({
    at: input.askedAt,
    tone: 'busy',
    title: <strong>Question</strong>,
    body: <Questions message={{ ...message, inputs: [input] }} />,
  }))

function endOf({ message, runs }: MessageStory): Step[] {
  const { state } = message
  const { tone } = messageLabel(state)
  switch (state.kind) {
    case 'responded': {
      const body = <AnswerParts id={message.id} parts={partsOf(message) ?? []} />
      return [{ at: state.respondedAt, tone, title: <strong>Answered</strong>, body }]
    }
    case 'failed': {
      const isOfRun = runs.some(({ error }) => error?.message === state.error.message)
      const body = !isOfRun && <ErrorText {...state.error} />
      return [{ at: state.failedAt, tone, title: <strong>Failed</strong>, body }]
    }
    case 'cancelled':
      return [{ at: state.cancelledAt, tone, title: <strong>Cancelled</strong> }]
    default:
      return []
  }
}

type Receivers = NonNullable<MessageStory['receivers']>

const deliverySteps = ({ deliveries, webhooks }: Receivers, isForCustomer: boolean): Step[] =>
  deliveries.flatMap(({ delivery, attempts }) => {
    const { id, event, state } = delivery
    const webhook = webhooks.find((one) => one.id === delivery.webhookId)
    const title = (status: Child) => (
      <>
        <strong class="url">
          {webhook
            ? (webhook.description ?? webhook.url)
            : 'A deleted webhook, or one of a single message'}
        </strong>{' '}
        <code>{event}</code> {status} <DeliveryLink id={id} />
      </>
    )
    const tried = attempts.map(({ startedAt, durationMs, outcome }): Step => {
      const label = outcomeLabel(outcome)
      const answer = outcome.kind === 'unreachable' ? outcome.detail : outcome.responseBody
      return {
        at: startedAt,
        tone: label.tone,
        title: title(
          <>
            <Status {...label} /> <span class="muted nowrap">{formatDuration(durationMs)}</span>
          </>,
        ),
        body: !isForCustomer && answer !== '' && <Text text={shortened(answer, SHOWN_WORDS)} />,
      }
    })
    if (state.kind !== 'pending') return tried
    const next = <NextAttempt at={state.nextAttemptAt} webhook={webhook} />
    return [...tried, { tone: 'busy', title: title(<>next attempt: {next}</>) }]
  })

const Text = ({ text }: { readonly text: string }) => (
  <pre class="prose" dir="auto" tabindex={0}>
    {text}
  </pre>
)

const MessageFacts = ({ message, agent, receivers }: MessageStory) => {
  const { id, state, sessionId, executionPrincipal, metadata = {} } = message
  return (
    <Facts
      facts={{
        State: <Status {...messageLabel(state)} />,
        Session: <SessionLink agent={agent.name} sessionId={sessionId} />,
        Agent: <a href={sessionsPath(agent.name)}>{agent.name}</a>,
        For: <Person principal={executionPrincipal} />,
        Metadata: Object.keys(metadata).length > 0 && (
          <pre tabindex={0}>{JSON.stringify(metadata, null, 2)}</pre>
        ),
        Deliveries: receivers && (
          <a href={`${BASE}/deliveries?message=${id}`}>{receivers.deliveries.length}</a>
        ),
        'Message ID': <WholeId id={id} />,
      }}
    />
  )
}
