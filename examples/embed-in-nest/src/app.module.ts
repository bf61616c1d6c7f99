import { Body, Controller, Get, Inject, Module, Post } from '@nestjs/common'
import type { Messaging } from '@org/agent-messaging-node'
import { MESSAGING, MessagingModule } from './messaging.module.js'
import { Users } from './users.js'

@Controller()
export class Support {
  constructor(@Inject(MESSAGING) private readonly messaging: Messaging) {}

  @Get()
  page(): string {
    return 'a page of the host'
  }

  @Post('questions')
  async ask(@Body() { question }: { question: string }): Promise<{ answer: string }> {
    return { answer: await this.messaging.ask('assistant', question) }
  }
}

@Module({ imports: [MessagingModule], controllers: [Support], providers: [Users] })
export class AppModule {}
