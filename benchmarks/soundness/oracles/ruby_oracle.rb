# Outlines Ruby files by Ripper: ruby ruby_oracle.rb ROOT < paths, one JSON object a file (README.md).

require "json"
require "ripper"

class Outline
  LOOSE = %w[define_method class_eval instance_eval module_eval method_missing const_set remove_const instance_variable_set].freeze

  attr_reader :made

  def initialize(path, text)
    @text = text
    @lines = text.lines
    tree = Ripper.sexp(text)
    @made = tree && { path: path, imports: [], definitions: [], values: [] }
    return unless @made

    @loose = LOOSE.any? { |word| text.include?(word) }
    @constants = Hash.new(0)
    each(tree) { |node| @constants[node[1][1][1]] += 1 if %i[assign opassign].include?(node[0]) && node[1].is_a?(Array) && node[1][0] == :var_field && node[1][1] && node[1][1][0] == :@const }
    each(tree) { |node| require_of(node) }
    level(tree[1], nil)
  end

  def each(node, &block)
    return unless node.is_a?(Array)

    block.call(node) if node[0].is_a?(Symbol)
    node.each { |child| each(child, &block) }
  end

  # The nodes of a body without those of nested definitions and of blocks, which may run with another self.
  def own(node, &block)
    return unless node.is_a?(Array)
    return if %i[def defs class module sclass brace_block do_block lambda].include?(node[0])

    block.call(node) if node[0].is_a?(Symbol)
    node.each { |child| own(child, &block) }
  end

  def require_of(node)
    return unless node[0] == :command && node[1][0] == :@ident && node[1][1] == "require"

    argument = node[2][1]&.first
    @made[:imports] << argument[1][1][1] if argument && argument[0] == :string_literal && argument[1].length == 2 && argument[1][1][0] == :@tstring_content
  end

  def literal(node)
    return nil unless node.is_a?(Array)
    return node[1].delete("_").to_i if node[0] == :@int && node[1] =~ /\A[1-9][\d_]{0,14}\z|\A0\z/
    return node[1][1][1] if node[0] == :string_literal && node[1].length == 2 && node[1][1][0] == :@tstring_content && node[1][1][1].length < 60 && !node[1][1][1].include?("\\")

    { "true" => true, "false" => false }[node[1][1]] if node[0] == :var_ref && node[1][0] == :@kw
  end

  def level(statements, owner)
    methods = statements.select { |one| one[0] == :def }.map { |one| one[1][1] }
    statements.each do |node|
      case node[0]
      when :module then level(node[2][1], constant(node[1]))
      when :class
        name = constant(node[1])
        base = node[2] && node[2][0] == :var_ref ? node[2][1][1] : nil
        @made[:definitions] << { symbol: name, kind: "type", lines: [line_of(node[1]), finish(line_of(node[1]))], bases: [base].compact, whole: node[2].nil? || !base.nil? }
        level(node[3][1], name)
      when :def then define(node, owner, methods)
      when :assign
        target = node[1]
        next unless target[0] == :var_field && target[1][0] == :@const && @constants[target[1][1]] == 1 && !@loose

        value = node[2]
        frozen = value[0] == :call && value[1][0] == :array ? value[1] : value
        symbol = owner ? "#{owner}.#{target[1][1]}" : target[1][1]
        @made[:values] << { symbol: symbol, value: literal(value) } unless literal(value).nil?
        next unless frozen[0] == :array && frozen[1].is_a?(Array) && frozen != value && value[3][1] == "freeze"

        items = frozen[1].map { |one| literal(one) }
        @made[:values] << { symbol: symbol, members: items } if items.any? && items.uniq.length == items.length && items.none?(&:nil?)
      end
    end
  end

  # The last name of `A::B::C`, and its line.
  def constant(node)
    node.flatten[node.flatten.rindex(:@const) + 1]
  end

  def line_of(node)
    node.flatten[node.flatten.rindex(:@const) + 2]
  end

  # The line of the `end` that has the indentation of the line where a definition begins.
  def finish(first)
    indent = @lines[first - 1][/\A */]
    last = (first...@lines.length).find { |at| @lines[at] =~ /\A#{indent}end\b/ }
    last ? last + 1 : first
  end

  def define(node, owner, methods)
    name, first = node[1][1], node[1][2][0]
    return if node[1][0] != :@ident || !@lines[first - 1].lstrip.start_with?("def ") || @lines[first - 1] =~ /;\s*end|\)\s*=/

    parameters = node[2] && node[2][0] == :paren ? node[2][1] : node[2]
    given, local = [], []
    each(parameters) { |one| local << one[1] if one[0] == :@ident }
    if parameters.is_a?(Array) && parameters[0] == :params
      (parameters[1] || []).each { |one| given << { name: one[1] } if one[0] == :@ident }
      (parameters[2] || []).each do |one, value|
        entry = { name: one[1] }
        entry[:default] = literal(value) unless literal(value).nil?
        given << entry
      end
    end
    body = node[3]
    each(body) { |one| local << one[1][1] if one[0] == :var_field && one[1].is_a?(Array) && one[1][0] == :@ident }
    caught = body[2..].any? || @lines[first...finish(first)].any? { |one| one =~ /\brescue\b|\bensure\b/ }
    calls, raises, returns = [], [], 0
    own(body[1]) do |one|
      case one[0]
      when :fcall, :command then called = one[1][1] if one[1][0] == :@ident
      when :call, :command_call
        called = one[3][1] if one[1].flatten.first(3) == [:var_ref, :@kw, "self"] && one[3].is_a?(Array) && one[3][0] == :@ident
      when :return, :return0 then returns += 1
      end
      calls << called if called && methods.include?(called) && !local.include?(called)
      if one[0] == :command && one[1][1] == "raise" && !caught
        error = one[2][1]&.first
        error = error[1] if error && error[0] == :method_add_arg && error[1][0] == :call && error[1][3][1] == "new" && (error = error[1])
        raises << error[1][1] if error && error[0] == :var_ref && error[1][0] == :@const
      end
    end
    last = body[1].last
    simple = last && %i[var_ref call method_add_arg string_literal @int].include?(last[0]) && @lines[finish(first) - 2].strip
    only = returns.zero? && !caught && simple && body[1].length == 1 && finish(first) - first == 2 && simple !~ /[#;]| (if|unless|while|until|rescue) /
    steps = @lines[first...finish(first) - 1].select { |one| one =~ /\A#{@lines[first - 1][/\A */]}  [a-z_]+(\(.*\)| [^=].*)?\n/ && one !~ /\b(if|unless|case|while|until|begin|do|rescue|return|else|elsif|end|ensure|when|for|yield|raise|super)\b|<<|\{|\\$|,$/ }
    symbol = owner ? "#{owner}.#{name}" : name
    @made[:definitions] << {
      symbol: symbol, kind: owner ? "method" : "function", lines: [first, finish(first)], parameters: given, raises: raises.uniq,
      calls: calls.uniq.map { |one| owner ? "#{owner}.#{one}" : one }, uses: [], returns: only ? simple : nil, steps: steps.map(&:strip), branches: branches(body[1])
    }
  end

  def branches(statements)
    statements.filter_map do |node|
      next unless node[0] == :if && node[3].nil? && node[2].length == 1 && node[2][0][0] == :vcall && node[1][0] == :var_ref

      [node[1][1][1], node[2][0][1][1]]
    end
  end
end

$stdin.each_line(chomp: true) do |path|
  made = Outline.new(path, File.read(File.join(ARGV[0], path), encoding: "UTF-8")).made
  puts JSON.generate(made) if made
end
