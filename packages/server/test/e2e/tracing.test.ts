import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { realServer, until, type RealServer } from './real-server.js'
import { receiver } from './receiver.js'

type Span = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly attributes: readonly {
    readonly key: string
    readonly value: { readonly stringValue?: string; readonly intValue?: number }
  }[]
}
type Body = {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

const CALLER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' }
const traceparent = `00-${CALLER.trace}-${CALLER.span}-01`

let server: RealServer
let hook: Awaited<ReturnType<typeof receiver>>
let collector: Awaited<ReturnType<typeof receiver>>
let meters: Awaited<ReturnType<typeof receiver>>

beforeAll(async () => {
  hook = await receiver()
  collector = await receiver()
  meters = await receiver()
  server = await realServer({
    env: {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_SERVICE_NAME: 'traced',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: meters.url,
      OTEL_METRIC_EXPORT_INTERVAL: '50',
    },
  })
  const agent = {
    name: 'parrot',
    runtime: { kind: 'function', handler: 'echo' },
    desiredState: 'running',
  }
  await server.api('POST', '/v1/agents', agent)
  await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
})
afterAll(async () => {
  await server.dispose()
  await hook.close()
  await collector.close()
  await meters.close()
})

const spans = (): Span[] =>
  collector.received.flatMap(({ body }) =>
    (JSON.parse(body) as Body).resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap((scope) => scope.spans),
    ),
  )
const named = (name: string): Span[] => spans().filter((span) => span.name === name)
const send = (message: string, headers: Record<string, string>) =>
  server.api('POST', '/v1/agents/parrot/messages', { sessionId: 's', message }, headers)

it('a message has spans of one trace: send, run, attempt and their commits', async () => {
  await send('hello', { traceparent })
  const names = ['message.send', 'invoke_agent parrot', 'delivery.attempt']
  const parents = () => new Set(named('store.commit').map(({ parentSpanId }) => parentSpanId))
  const hasCommit = (name: string) => named(name).some(({ spanId }) => parents().has(spanId))
  expect(await until(() => names.every(hasCommit)), [...parents()].join()).toBe(true)
  const [sent] = named('message.send')
  const [run] = named('invoke_agent parrot')
  const [attempt] = named('delivery.attempt')
  expect(sent).toMatchObject({ traceId: CALLER.trace, parentSpanId: CALLER.span })
  expect(run).toMatchObject({ traceId: CALLER.trace, parentSpanId: sent?.spanId })
  expect(attempt).toMatchObject({ traceId: CALLER.trace, parentSpanId: sent?.spanId })
  expect(run?.attributes).toEqual(
    expect.arrayContaining([
      { key: 'gen_ai.operation.name', value: { stringValue: 'invoke_agent' } },
      { key: 'gen_ai.provider.name', value: { stringValue: 'agent-messaging' } },
      { key: 'gen_ai.conversation.id', value: { stringValue: 's' } },
    ]),
  )
  expect(hook.received[0]?.headers['traceparent']).toBe(`00-${CALLER.trace}-${attempt?.spanId}-01`)
})

it('a repeated send links to the trace of the first', async () => {
  const key = { 'Idempotency-Key': 'k' }
  await send('again', { ...key, traceparent })
  await send('again', { ...key, traceparent: traceparent.replaceAll('4', '5') })
  const other = CALLER.trace.replaceAll('4', '5')
  const repeated = () => named('message.send').find(({ traceId }) => traceId === other)
  expect(await until(() => repeated() !== undefined)).toBe(true)
  expect(repeated()?.links).toMatchObject([{ traceId: CALLER.trace }])
  const linked = repeated()?.links?.[0]?.spanId
  const isThere = () => named('message.send').some(({ spanId }) => spanId === linked)
  expect(await until(isThere)).toBe(true)
})

type Metrics = {
  readonly resourceMetrics: readonly {
    readonly resource: { readonly attributes: Span['attributes'] }
    readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[]
  }[]
}
type Points = { readonly dataPoints: readonly { readonly asDouble?: number }[] }
type Metric = { readonly name: string; readonly sum?: Points; readonly gauge?: Points }

it('the metrics are exported, also the present state, and `/metrics` stays closed', async () => {
  await send('counted', {})
  const exported = () =>
    meters.received.flatMap(({ body }) => (JSON.parse(body) as Metrics).resourceMetrics)
  const valueOf = (name: string): number | undefined => {
    const metrics = exported()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics)
    const { sum, gauge } = metrics?.find((metric) => metric.name === name) ?? {}
    return (sum ?? gauge)?.dataPoints[0]?.asDouble
  }
  expect(await until(() => (valueOf('agent_messaging_messages_accepted_total') ?? 0) >= 1)).toBe(
    true,
  )
  expect(valueOf('agent_messaging_storage_up')).toBe(1)
  expect(exported()[0]?.resource.attributes).toContainEqual({
    key: 'service.name',
    value: { stringValue: 'traced' },
  })
  expect((await fetch(`${server.url}/metrics`)).status).not.toBe(200)
})

it('a collector that never answers holds up no message and no stop', async () => {
  let exports = 0
  const hanging = createServer(() => exports++)
  hanging.listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const { port } = hanging.address() as AddressInfo
  const traced = await realServer({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
  })
  try {
    const runtime = { kind: 'function', handler: 'echo' }
    await traced.api('POST', '/v1/agents', { name: 'parrot', runtime })
    const ask = () =>
      traced.api('POST', '/v1/agents/parrot/messages', { sessionId: 's', message: 'hello' })
    expect((await ask()).status).toBe(200)
    expect(await until(() => exports > 0)).toBe(true)
    expect((await ask()).status).toBe(200)
    expect(await traced.kill('SIGTERM')).toBe(0)
  } finally {
    await traced.dispose()
    hanging.closeAllConnections()
    hanging.close()
  }
})
