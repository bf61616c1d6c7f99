import { z } from 'zod'

type Variant<Tag extends string> = z.ZodObject<{ readonly [K in Tag]: z.ZodLiteral<string> }>

/**
 * Variants that differ by the literal in the field `tag`. Each variant has an `id` in its meta, so
 * that it is a named schema and generators make one type of each.
 */
export const variants = <Tag extends string, const Members extends readonly Variant<Tag>[]>(
  tag: Tag,
  members: Members,
) =>
  z.discriminatedUnion(tag, members as never).meta({
    discriminator: {
      propertyName: tag,
      mapping: Object.fromEntries(
        members.map((member) => [
          member.shape[tag].value,
          `#/components/schemas/${member.meta()?.id}`,
        ]),
      ),
    },
  }) as unknown as z.ZodUnion<Members>
