import type { Page } from '@org/agent-messaging-core'
import { z } from 'zod'

export const pageBody =
  <T, B>(bodyOf: (row: T) => B) =>
  ({ data, nextCursor }: Page<T>) => ({ data: data.map(bodyOf), nextCursor })

/** One page of a list. The schema is named after its rows. */
export const pageSchema = <Row extends z.ZodType>(row: Row) =>
  z
    .object({
      data: z.array(row),
      nextCursor: z
        .string()
        .nullable()
        .meta({ description: 'Send it as `?cursor=`. Null on the last page.' }),
    })
    .meta({ id: `${row.meta()?.id}Page` })
