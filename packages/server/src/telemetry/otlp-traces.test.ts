import { createService, functionRuntime } from '@org/agent-messaging-core'
import { fakePlatform } from '@org/agent-messaging-testing'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTelemetryTracing } from './otlp-traces.js'

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => {
  context.disable()
})

/** Opens a service with spans, and sends a message to a function. Returns the ended spans. */
async function sendTo(handler: () => Promise<string>): Promise<ReadableSpan[]> {
  const ended: ReadableSpan[] = []
  const provider = new TracerProvider({
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd: (span) => void ended.push(span),
        shutdown: async () => undefined,
        forceFlush: async () => undefined,
      },
    ],
  })
  const platform = fakePlatform()
  const tracing = openTelemetryTracing(provider.getTracer('test'))
  const service = createService({
    ...platform,
    tracing,
    runtimes: [functionRuntime({ own: handler })],
  })
  await service.start()
  const { id: projectId } = await service.projects.create({ name: 'p' })
  const runtime = { kind: 'function', handler: 'own' }
  await service.agents.create({ projectId, name: 'own', desiredState: 'running', runtime })
  await service.messages.send({ projectId, agent: 'own', sessionId: 's', message: 'hi' })
  await service.stop()
  return ended
}

describe('the span of a run', () => {
  it('is active in a function, also after a wait, so that the spans of its libraries join', async () => {
    const seen: (string | undefined)[] = []
    const see = () => void seen.push(trace.getActiveSpan()?.spanContext().spanId)
    const ended = await sendTo(async () => {
      see()
      await nextTurn()
      see()
      return 'done'
    })
    const run = ended.find(({ name }) => name === 'invoke_agent own')?.spanContext().spanId
    expect(run).toBeDefined()
    expect(seen).toEqual([run, run])
    expect(trace.getActiveSpan()).toBeUndefined()
  })

  it.each([
    ['openai', 'openai'],
    ['function', 'agent-messaging'],
  ])('of a runtime %s names the provider %s', (runtime, provider) => {
    const attributes: unknown[] = []
    const tracer = new TracerProvider().getTracer('test')
    const start = tracer.startSpan.bind(tracer)
    tracer.startSpan = (name, options, parent) => {
      attributes.push(options?.attributes)
      return start(name, options, parent)
    }
    const details = { agentName: 'own', runtime }
    openTelemetryTracing(tracer).start({ name: 'agent.run', parent: undefined, details }).end()
    expect(attributes).toMatchObject([{ 'gen_ai.provider.name': provider }])
  })
})
