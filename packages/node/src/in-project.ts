import type { MessagingService, Page } from '@org/agent-messaging-core'
import { given, isJsonObject } from '@org/agent-messaging-core/runtime'
import {
  shownPage,
  type ShownFailures,
  type ShownStats,
  type ShownUsage,
  type WebhookView,
} from '@org/agent-messaging-core/host'
import { CALLS, COUNTS, type Given, type Listing, type RowOf, type Transaction } from './calls.js'
import { listOf, type List } from './list.js'
import { invalid, taken, type Fields } from './taken.js'

type Calls = typeof CALLS

/** What the call shows for a value of the service. */
type ShownBy<Shape, Value> = Shape extends {
  readonly shown: (value: never, view: never) => infer S
}
  ? S
  : Value

type InProject<Name, Call, Shape> = Call extends (input: infer Input) => Promise<infer Value>
  ? Name extends Listing
    ? ListCall<Given<NonNullable<Input>>, ShownBy<Shape, RowOf<Value>>>
    : (input: Given<Input>) => Promise<ShownBy<Shape, Value>>
  : never
type ListCall<Input, Row> = object extends Input
  ? (input?: Input) => List<Row>
  : (input: Input) => List<Row>
type GroupInProject<Group, Shapes> = {
  readonly [K in keyof Group]: InProject<K, Group[K], Shapes[K & keyof Shapes]>
}

/** The calls of the service for one project. They return the value or throw a `MessagingError`. */
export type ProjectCalls = {
  readonly [G in keyof Calls]: GroupInProject<
    Pick<MessagingService[G], keyof Calls[G] & keyof MessagingService[G]>,
    Calls[G]
  >
} & {
  readonly usage: {
    /** Returns the counts of the project by day. At most 600 days. Default: the last 30 days. */
    get(range?: {
      /** The first day in UTC, such as `2030-01-31`. */
      readonly from?: string
      /** The last day in UTC. */
      readonly to?: string
    }): Promise<ShownUsage>
  }
  readonly stats: {
    /** Returns the counts of the project, its agents or its webhooks, by step of time. */
    get(
      input?: Partial<
        Omit<Parameters<MessagingService['stats']>[0], 'projectId' | 'from' | 'to'>
      > & {
        /** Default: the step that has 12 steps, or 30 days, before `to`. */
        readonly from?: string
        /** Default: now. */
        readonly to?: string
      },
    ): Promise<ShownStats>
  }
  readonly failures: {
    /** Returns the agents and webhooks that fail now, or failed since `from`. */
    get(input?: {
      /** Within the last 48 hours. Default: 24 hours ago. */
      readonly from?: string
    }): Promise<ShownFailures>
  }
}

type Call = (input: unknown) => Promise<unknown>
type Values = Readonly<Record<string, unknown>>
type Shape = {
  readonly fields: Fields
  readonly shown?: (value: never, view: WebhookView) => unknown
}

/** Adds the project to every call. */
export function inProject(service: MessagingService, projectId: string): ProjectCalls {
  const show = ({ shown }: Shape, value: unknown) =>
    shown ? shown(value as never, service.host) : value
  const caller = (call: Call, shape: Shape) => async (input: unknown) =>
    show(shape, await call({ ...taken(input, shape.fields), projectId }))
  const lister = (call: Call, shape: Shape) => (input: unknown) => {
    // The caller can change its object before the list is read.
    const wanted = isJsonObject(input) ? { ...input } : input
    return listOf(async (cursor) => {
      const asked = { ...taken(wanted, shape.fields), ...given({ cursor }), projectId }
      return shownPage((await call(asked)) as Page<unknown>, (row) => show(shape, row))
    })
  }
  const bound = ([group, shapes]: readonly [string, Readonly<Record<string, Shape>>]) => {
    const calls = service[group as keyof Calls] as object as Readonly<Record<string, Call>>
    const all = Object.entries(shapes).map(([name, shape]) => {
      const call = calls[name] as Call
      if (name === 'list' || name === 'search') return [name, lister(call, shape)]
      return [name, caller('transaction' in shape.fields ? storing(name, call) : call, shape)]
    })
    return [group, Object.fromEntries(all)]
  }
  const counts = Object.entries(COUNTS).map(([name, { call, step, ...shape }]) => [
    name,
    {
      get: caller((asked) => service[call](given({ step, ...(asked as Values) }) as never), shape),
    },
  ])
  return Object.fromEntries([...Object.entries(CALLS).map(bound), ...counts]) as ProjectCalls
}

/** `pg` is optional, so its adapter is loaded at the first use. */
const storing =
  (name: string, call: Call): Call =>
  async (input) => {
    const { transaction } = input as { readonly transaction?: Transaction }
    if (transaction === undefined && name !== 'enqueue') return call(input)
    // A pool runs each statement on any of its connections.
    if (typeof transaction?.query !== 'function' || 'totalCount' in transaction)
      throw invalid('transaction', 'must be a client of pg with an open transaction')
    const { inTransaction: storesIn } = await import('@org/agent-messaging-adapter-postgres')
    return call({ ...(input as Values), transaction: storesIn(transaction) })
  }
