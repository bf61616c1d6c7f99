import type { Page } from '@org/agent-messaging-core'

export const pageBody = <T, B>({ data, nextCursor }: Page<T>, bodyOf: (row: T) => B) => ({ data: data.map(bodyOf), nextCursor })
