import { Injectable } from '@nestjs/common'

/** Stands for your login. */
@Injectable()
export class Users {
  readonly #ids = new Map([
    ['login=ada-secret', 'ada'],
    ['login=bob-secret', 'bob'],
  ])

  idOf(cookie: string | null): string | undefined {
    return this.#ids.get(cookie ?? '')
  }
}
